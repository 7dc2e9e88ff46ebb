"""Protocol buffers of the Tinker protocol, for the stand-in: requests of passes as the JSON that
older clients send, and results in the encoding that newer ones want."""

import struct

DTYPES = {"float32": 1, "int64": 2}
FORMATS = {1: ("f", 4), 2: ("q", 8)}


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def counted(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def fields(data):
    """(number, value) of each field: an integer, a float of 8 bytes, or bytes."""
    at = 0

    def read():
        nonlocal at
        value, shift = 0, 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = read()
        if key & 7 == 0:
            yield key >> 3, read()
        elif key & 7 == 1:
            yield key >> 3, struct.unpack("<d", data[at : at + 8])[0]
            at += 8
        else:
            assert key & 7 == 2, f"wire type {key & 7}"
            count = read()
            assert at + count <= len(data), "cut off"
            yield key >> 3, data[at : at + count]
            at += count


def floats(data):
    return list(struct.unpack(f"<{len(data) // 4}f", data))


def tensor_of(data):
    found = dict(fields(data))
    letter, size = FORMATS[found[3]]
    values = list(struct.unpack(f"<{len(found[1]) // size}{letter}", found[1]))
    dtype = next(name for name, number in DTYPES.items() if number == found[3])
    return {"data": values, "dtype": dtype, "shape": [found[4]]}


def datum_of(data):
    chunks, inputs = [], {}
    for number, value in fields(data):
        if number == 1:
            tokens = dict(fields(dict(fields(value))[1]))[1]
            ids = list(struct.unpack(f"<{len(tokens) // 4}i", tokens))
            chunks.append({"type": "encoded_text", "tokens": ids})
        else:
            entry = dict(fields(value))
            inputs[entry[1].decode()] = tensor_of(entry[2])
    return {"model_input": {"chunks": chunks}, "loss_fn_inputs": inputs}


def request_of(data):
    """The body as JSON, and whether it is a forward pass alone."""
    body, config, config_2, forward = {}, {}, {}, False
    given = {"data": []}
    for number, value in fields(data):
        if number == 1:
            body["model_id"] = value.decode()
        elif number == 2:
            body["seq_id"] = value
        elif number == 3:
            given["data"].append(datum_of(value))
        elif number == 4:
            given["loss_fn"] = value.decode()
        elif number == 5:
            entry = dict(fields(value))
            config[entry[1].decode()] = entry[2]
        elif number == 6:
            forward = bool(value)
        elif number == 7:
            entry = dict(fields(value))
            config_2[entry[1].decode()] = dict(fields(entry[2]))[1]
    assert config == config_2, "the two maps of options differ"
    if config:
        given["loss_fn_config"] = config
    return body | {"forward_input" if forward else "forward_backward_input": given}, forward


def pass_result(result):
    out = counted(1, result["loss_fn_output_type"].encode())
    record = b""
    names = result["loss_fn_outputs"][0] if result["loss_fn_outputs"] else ()
    for name in names:
        rows = [output[name]["data"] for output in result["loss_fn_outputs"]]
        offsets, data = [0], b""
        for row in rows:
            data += struct.pack(f"<{len(row)}f", *row)
            offsets.append(len(data))
        packed = struct.pack(f"<{len(offsets)}q", *offsets)
        tensor = counted(1, data) + counted(2, packed) + varint(3 << 3) + varint(1)
        record += counted(2, counted(1, name.encode()) + counted(2, tensor))
    out += counted(2, record + varint(3 << 3) + varint(len(result["loss_fn_outputs"])))
    for name, value in result["metrics"].items():
        number = varint(2 << 3 | 1) + struct.pack("<d", value)
        out += counted(3, counted(1, name.encode()) + number)
    return out


def sample_result(result):
    out = b""
    for sequence in result["sequences"]:
        reason = b"" if sequence["stop_reason"] == "stop" else varint(1 << 3) + varint(1)
        tokens = struct.pack(f"<{len(sequence['tokens'])}i", *sequence["tokens"])
        logprobs = struct.pack(f"<{len(sequence['logprobs'])}f", *sequence["logprobs"])
        out += counted(1, reason + counted(2, tokens) + counted(3, logprobs))
    return out
