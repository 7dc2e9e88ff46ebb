"""The Tinker server of fake_tinker.py, for Tinker's own SDK (0.38): what warpgym's client sends or
takes otherwise."""

import hashlib

import fake_tinker_proto
from fake_tinker import FakeTinker


def tensor_of(data, read=fake_tinker_proto.tensor_of):
    """The SDK packs a shape."""
    tensor = read(data)
    return tensor | {"shape": [len(tensor["data"])]}


class SdkTinker(FakeTinker):
    def __init__(self, model, folder):
        super().__init__(model, folder, passes="proto")
        self.name = str(model)
        fake_tinker_proto.tensor_of = tensor_of

    def create_model(self, body):
        body["lora_config"].setdefault("seed", 1)
        return super().create_model(body)

    def freeze(self, body):
        """The SDK takes the session alone."""
        future = super().freeze(body)
        if "path" not in body:
            _, result = self.futures[future["request_id"]]
            result["sampling_session_id"] = self.session_name(body)
        return future

    def session_name(self, body):
        return f"{body['model_id']}_sample_{body['sampling_session_seq_id']}"

    def asample(self, body):
        key = f"{body['sampling_session_id']} {body['seq_id']}".encode()
        seed = int.from_bytes(hashlib.sha256(key).digest()[:3], "big")
        body["sampling_params"].setdefault("seed", seed)
        future = super().asample(body)
        return future | {"sample_sequence_ids": [f"{future['request_id']}-0"]}

    def answer(self, path, body):
        if path == "/api/v1/get_info":
            rank = self.model_of(body).rank
            facts = {"model_id": body["model_id"], "model_name": self.name}
            return facts | {"model_data": facts, "is_lora": True, "lora_rank": rank}
        return super().answer(path, body)
