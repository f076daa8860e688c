"""scikit-learn's tree ensembles for `surety import`: surety_sklearn.save(fitted_model, "model.st")."""
import json

import numpy as np
import sklearn

NEW = tuple(int(part) for part in sklearn.__version__.split(".")[:2]) >= (1, 4)  # decides by the sign of the score


def _nodes(tree, value):
    leaf = tree.children_left < 0
    return dict(left=tree.children_left, right=tree.children_right, feature=np.where(leaf, 0, tree.feature),
                threshold=np.where(leaf, 0, tree.threshold), value=value,
                missing=getattr(tree, "missing_go_to_left", leaf))


def _shares(tree):
    """Class shares of every node, as predict_proba computes them."""
    counts = tree.tree_.value[:, 0, :]
    total = counts.sum(axis=1)[:, np.newaxis]
    return counts / np.where(total == 0, 1, total)


def _vote(tree, weight, K, algorithm):
    """What a tree adds in AdaBoost."""
    if algorithm == "SAMME":
        return (np.arange(K) == np.argmax(tree.tree_.value[:, 0, :], axis=1)[:, np.newaxis]) * weight
    logs = np.log(np.clip(_shares(tree), np.finfo(np.float64).eps, None))
    return (K - 1) * (logs - (1.0 / K) * logs.sum(axis=1)[:, np.newaxis])


def _hist(n):
    return dict(left=np.where(n["is_leaf"], -1, n["left"].astype(np.int64)), right=n["right"], feature=n["feature_idx"],
                threshold=np.where(n["is_leaf"], 0, n["num_threshold"]), value=n["value"][:, np.newaxis],
                missing=n["missing_go_to_left"])


def _read(model, K):
    """Trees, where scores start, what they are divided by, how they decide, the slope of a sigmoid."""
    name = type(model).__name__
    if name in ("DecisionTreeClassifier", "RandomForestClassifier", "ExtraTreesClassifier"):
        members = getattr(model, "estimators_", [model])
        return [_nodes(t.tree_, _shares(t)) for t in members], np.zeros(K), float(len(members)), "shares", 1.0
    if name == "AdaBoostClassifier" and all(hasattr(t, "tree_") for t in model.estimators_) and not NEW:
        pairs = zip(model.estimators_, model.estimator_weights_)
        trees = [_nodes(t.tree_, _vote(t, weight, K, model.algorithm)) for t, weight in pairs]
        return trees, np.zeros(K), float(model.estimator_weights_.sum()), "largest", 1.0
    if name == "GradientBoostingClassifier" and model.init in (None, "zero"):
        trees = [_nodes(t.tree_, model.learning_rate * t.tree_.value[:, 0, :]) for t in model.estimators_.ravel()]
        start = model._raw_predict_init(np.zeros((1, model.n_features_in_), np.float32))[0]
        rule = ("sign" if NEW else "sigmoid") if K == 2 else "largest" if NEW else "softmax"
        return trees, start, 1.0, rule, 2.0 if model.loss == "exponential" else 1.0
    if name == "HistGradientBoostingClassifier" and not np.any(model.is_categorical_):
        trees = [_hist(t.nodes) for iteration in model._predictors for t in iteration]
        return trees, np.ravel(model._baseline_prediction), 1.0, "sigmoid" if K == 2 else "softmax", 1.0
    raise ValueError(f"{name} with these settings is not supported by scikit-learn {sklearn.__version__} here")


def save(model, path):
    """Writes a fitted DecisionTree, RandomForest, ExtraTrees, GradientBoosting, HistGradientBoosting or AdaBoost
    classifier (of decision trees) so that `surety import` can replay it bit for bit."""
    if getattr(model, "n_outputs_", 1) != 1:
        raise ValueError("several outputs are not supported")
    trees, start, divide, rule, steep = _read(model, len(model.classes_))
    scores = len(start) if trees[0]["value"].shape[1] == 1 else 1
    tensors = {"start": start}  # doubles first, so that all are aligned
    for key in ("value", "threshold", "left", "right", "feature", "missing"):
        tensors[key] = np.concatenate([tree[key] for tree in trees])
    tensors["first"] = np.cumsum([0] + [len(tree["left"]) for tree in trees[:-1]])
    tensors["column"] = np.arange(len(trees)) % scores
    texts = dict(format="surety-sklearn 1", model=type(model).__name__, version=sklearn.__version__, rule=rule,
                 features=str(model.n_features_in_), divide=repr(divide), steep=repr(steep),
                 classes=json.dumps([str(label) for label in model.classes_]))
    if hasattr(model, "feature_names_in_"):
        texts["feature_names"] = json.dumps([str(name) for name in model.feature_names_in_])
    header, body = {"__metadata__": texts}, b""
    for key, array in tensors.items():
        wide = key in ("start", "value", "threshold")
        data = np.ascontiguousarray(array, "<f8" if wide else "<i4").tobytes()
        header[key] = dict(dtype="F64" if wide else "I32", shape=list(array.shape),
                           data_offsets=[len(body), len(body) + len(data)])
        body += data
    text = json.dumps(header).encode()
    text += b" " * (-(8 + len(text)) % 64)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + body)
