"""Certificates that were changed, with digests that fit again."""
import hashlib
import json


def sealed(certificate):
    def text(value):
        if isinstance(value, dict):
            return "{" + ",".join(json.dumps(k) + ":" + text(value[k]) for k in sorted(value)) + "}"
        if isinstance(value, list):
            return "[" + ",".join(map(text, value)) + "]"
        if isinstance(value, float):
            short = "%.17g" % value
            short = short.replace("e-0", "e-").replace("e+0", "e")
            return short if "." in short or "e" in short else short + ".0"
        return json.dumps(value, ensure_ascii=False)
    rest = {k: v for k, v in certificate.items() if k not in ("digest", "counts_sha256")}
    rest["counts_sha256"] = hashlib.sha256(text(rest["counts"]).encode()).hexdigest()
    return {**rest, "digest": hashlib.sha256(text(rest).encode()).hexdigest()}
