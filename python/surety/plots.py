"""Figures for papers; they need matplotlib."""
from typing import Dict, Optional

import numpy as np


def _axes(ax):
    if ax is not None:
        return ax
    from matplotlib import pyplot
    return pyplot.subplots(figsize=(4.2, 3.0), constrained_layout=True)[1]


def plot_curve(curve: Dict[str, np.ndarray], certificate=None, ax=None):
    """Risk against radius, as ``Model.curve`` measured it: the true risk lies between the strongest attack and the worst
    case. certificate: one with a curve, whose limits are drawn as steps."""
    ax = _axes(ax)
    styles = {"worst-case": dict(color="C3", label="not proved right")}
    measured = [name for name in curve if name != "eps"]
    for i, name in enumerate(measured):
        ax.plot(curve["eps"], curve[name], marker="o", markersize=3, **styles.get(name, dict(color=f"C{i}", label=name)))
    if "worst-case" in curve and len(measured) > 1:
        attacked = np.max([curve[name] for name in measured if name != "worst-case"], axis=0)
        ax.fill_between(curve["eps"], attacked, curve["worst-case"], color="0.9", label="true risk")
    if certificate is not None:
        points = certificate.curve
        ax.step([0] + [p["radius"] for p in points], [points[0]["value"]] + [p["value"] for p in points], where="pre", color="k",
                linestyle="--", label=f"limit, confidence {100 * (1 - certificate.delta):g} %")
    unit = certificate.document["attack"]["radius_unit"] if certificate is not None else ""
    ax.set(xlabel=f"radius ({unit})" if unit else "radius", ylabel="risk", ylim=(0, None))
    ax.legend(frameon=False, fontsize="small")
    return ax


def plot_classes(promise, ax=None, title: Optional[str] = None):
    """Bars per class of a certificate or guarantee per class: the share that failed on S, and its limit."""
    ax = _axes(ax)
    found = promise.classes
    if not found:
        raise ValueError("this promise has no limits per class: ask for per_class=True")
    places = np.arange(len(found))
    ax.bar(places, [c["value"] for c in found], color="0.85", label=f"limit, confidence {100 * (1 - promise.delta):g} %")
    ax.bar(places, [c["failed"] / c["m"] if c["m"] else 0 for c in found], width=0.5, color="C0", label="failed on S")
    ax.set_xticks(places, [str(c["label"]) for c in found])
    ax.set(xlabel="class", ylabel="share that fails", ylim=(0, 1.3 * max(c["value"] for c in found)))  # room for the legend
    if title:
        ax.set_title(title)
    ax.legend(frameon=False, fontsize="small")
    return ax
