"""scikit-learn's tree ensembles for `surety import`: surety_sklearn.save(fitted_model, "model.st")."""
import json

import numpy as np
import sklearn


def save(model, path):
    """Writes a fitted DecisionTree, RandomForest, ExtraTrees, GradientBoosting, HistGradientBoosting or AdaBoost
    classifier (of decision trees) so that `surety import` can replay it bit for bit."""
    name, classes, d = type(model).__name__, model.classes_, model.n_features_in_
    if getattr(model, "n_outputs_", 1) != 1: raise ValueError("several outputs are not supported")
    K, divide, rule, steep, start = len(classes), 1.0, "largest", 1.0, None
    new = tuple(int(part) for part in sklearn.__version__.split(".")[:2]) >= (1, 4)  # decides by the sign of the score

    def nodes(tree, value):
        leaf = tree.children_left < 0
        return dict(left=tree.children_left, right=tree.children_right, feature=np.where(leaf, 0, tree.feature), value=value,
                    threshold=np.where(leaf, 0, tree.threshold), missing=getattr(tree, "missing_go_to_left", leaf))

    def shares(tree):  # as predict_proba computes them
        counts = tree.tree_.value[:, 0, :]
        return counts / np.where(counts.sum(axis=1) == 0, 1, counts.sum(axis=1))[:, np.newaxis]

    if name in ("DecisionTreeClassifier", "RandomForestClassifier", "ExtraTreesClassifier"):
        members = getattr(model, "estimators_", [model])
        trees, rule, divide = [nodes(t.tree_, shares(t)) for t in members], "shares", float(len(members))
    elif name == "AdaBoostClassifier" and all(hasattr(t, "tree_") for t in model.estimators_):
        def vote(tree, weight):
            if model.algorithm != "SAMME.R": return (np.arange(K) == np.argmax(tree.tree_.value[:, 0, :], axis=1)[:, np.newaxis]) * weight
            logs = np.log(np.clip(shares(tree), np.finfo(np.float64).eps, None))
            return (K - 1) * (logs - (1.0 / K) * logs.sum(axis=1)[:, np.newaxis])
        if new: raise ValueError("AdaBoost of scikit-learn 1.4 and later is not supported")
        trees, divide = [nodes(t.tree_, vote(t, w)) for t, w in zip(model.estimators_, model.estimator_weights_)], model.estimator_weights_.sum()
    elif name == "GradientBoostingClassifier" and model.init in (None, "zero"):
        trees = [nodes(t.tree_, model.learning_rate * t.tree_.value[:, 0, :]) for row in model.estimators_ for t in row]
        start, steep = model._raw_predict_init(np.zeros((1, d), np.float32))[0], 2.0 if model.loss == "exponential" else 1.0
        rule = ("sign" if new else "sigmoid") if K == 2 else "largest" if new else "softmax"
    elif name == "HistGradientBoostingClassifier" and not np.any(model.is_categorical_):
        trees = [dict(left=np.where(n["is_leaf"], -1, n["left"].astype(np.int64)), right=n["right"], feature=n["feature_idx"], value=n["value"][:, np.newaxis],
                      threshold=np.where(n["is_leaf"], 0, n["num_threshold"]), missing=n["missing_go_to_left"]) for row in model._predictors for n in (t.nodes for t in row)]
        start, rule = np.ravel(model._baseline_prediction), "sigmoid" if K == 2 else "softmax"
    else:
        raise ValueError(f"{name} with these settings is not supported")
    start = np.zeros(K) if start is None else start
    first = np.cumsum([0] + [len(t["left"]) for t in trees[:-1]])
    column = np.arange(len(trees)) % (len(start) if trees[0]["value"].shape[1] == 1 else 1)
    tensors = {key: np.concatenate([t[key] for t in trees]) for key in ("value", "threshold", "left", "right", "feature", "missing")}
    tensors = {"start": start, **tensors, "first": first, "column": column}  # doubles first, so that all are aligned
    texts = dict(format="surety-sklearn 1", model=name, version=sklearn.__version__, features=str(d), rule=rule, divide=repr(float(divide)),
                 steep=repr(steep), classes=json.dumps([str(c) for c in classes]), feature_names=json.dumps([str(n) for n in getattr(model, "feature_names_in_", [])]) if hasattr(model, "feature_names_in_") else "")
    header, body = {"__metadata__": texts}, b""
    for key, array in tensors.items():
        wide = key in ("start", "value", "threshold")
        data = np.ascontiguousarray(array, "<f8" if wide else "<i4").tobytes()
        header[key] = dict(dtype="F64" if wide else "I32", shape=list(array.shape), data_offsets=[len(body), len(body) + len(data)])
        body += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 64 + 56)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + body)
