"""Votes that resist small changes of their input, and promises about any classifier that can be defended.

    import surety
    clf = surety.VoteClassifier(norm="linf", eps=0.1).fit(X, y)
    print(clf.certify(looks=1).sentence)

docs/python.md is the manual."""
from surety._call import CheckFailed, Error, InputError, MachineError, Stopped, UsageError, lib as _lib, text as _text
from surety.certificates import Certificate, Verification, verify
from surety.estimator import VoteClassifier
from surety.model import Model, kinds
from surety.planning import Monitor, plan, reachable
from surety.plots import plot_classes, plot_curve
from surety.threats import Attack, Clean, Noise, Threat, WorstCase
from surety.trees import from_lightgbm, from_sklearn, from_xgboost, import_model
from surety.votes import Guarantee, bound, guarantee, verify_votes

__version__ = _text(_lib.surety_version())

__all__ = ["Attack", "Certificate", "CheckFailed", "Clean", "Error", "Guarantee", "InputError", "MachineError", "Model", "Monitor",
           "Noise", "Stopped", "Threat", "UsageError", "Verification", "VoteClassifier", "WorstCase", "bound", "from_lightgbm",
           "from_sklearn", "from_xgboost", "guarantee", "import_model", "kinds", "plan", "plot_classes", "plot_curve",
           "reachable", "verify", "verify_votes"]
