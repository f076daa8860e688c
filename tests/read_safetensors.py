"""An independent reader of safetensors files, from the format's description: eight bytes with the little-endian length
of the header, the header (JSON: "__metadata__" holds texts by key, every other key is a tensor with dtype, shape and
data_offsets behind the header), then the tensors without holes."""
import json
import sys

import numpy as np

DTYPES = {"F64": np.dtype("<f8"), "F32": np.dtype("<f4"), "U8": np.dtype("u1"), "U64": np.dtype("<u8"),
          "I32": np.dtype("<i4")}


def read(path):
    """(tensors by name in the order of the file, metadata, where the data begins)"""
    with open(path, "rb") as f:
        raw = f.read()
    begin = 8 + int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:begin])
    metadata = header.pop("__metadata__", {})
    tensors, at = {}, 0
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        first, end = entry["data_offsets"]
        assert first == at and begin % 8 == 0, (name, first, at)
        tensors[name] = np.frombuffer(raw, DTYPES[entry["dtype"]], (end - first) // DTYPES[entry["dtype"]].itemsize,
                                      begin + first).reshape(entry["shape"])
        at = end
    assert begin + at == len(raw)
    return tensors, metadata, begin


if __name__ == "__main__":
    for name, tensor in read(sys.argv[1])[0].items():
        print(name, tensor.dtype, tensor.shape)
