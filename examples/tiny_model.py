#!/usr/bin/env python3
"""Makes a tiny model that errs, so that a trainer has something to improve within minutes on a CPU.

    python3 examples/tiny_model.py --out models/tiny

It takes the gym's prompts of two problems, and learns four answers to each in equal shares: a right
kernel, a wrong one, one that does not compile, and talk. A first answer is followed by the judge's
real feedback and another answer. Needs a server (`warpgym serve`; --url or WARPGYM_CLIENT_URL) and
the packages torch and transformers; with --submit, for TRL's environments, trl.
"""

import argparse

import torch
import transformers
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from warpgym.episodes import Conversation, Unjudged, new_messages

KERNELS = {
    "relu": """void solution(const float *x, float *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = %s;
}""",
    "row_sum": """void solution(const float *x, float *y, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++) {
        double sum = %s;
        for (size_t j = 0; j < cols; j++)
            sum += x[i * cols + j];
        y[i] = sum;
    }
}""",
}
BLANKS = {  # right, wrong, no C
    "relu": ("x[i] > 0 ? x[i] : 0", "x[i] < 0 ? x[i] : 0", "max(x[i]"),
    "row_sum": ("0", "1", "zero()("),
}
TALK = "I would write a kernel."

# As ChatML; a conversation that goes on begins with the same text.
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def answers_to(problem):
    for blank in BLANKS[problem]:
        source = "#include <stddef.h>\n\n" + KERNELS[problem] % blank
        yield f"<KERNEL>\n```c\n{source}\n```\n</KERNEL>"
    yield TALK


def conversations(url):
    """The prompts, each with a first answer, the feedback on it, and a second one."""
    with Conversation(url, turns=2, language="c") as gym:
        for problem in KERNELS:
            for first in answers_to(problem):
                prompt = gym.reset(problem).messages
                try:
                    feedback = new_messages(gym.step(first))
                except Unjudged:
                    continue
                for second in answers_to(problem):
                    yield prompt, first, feedback, second


def plain(prompt, first, feedback, second):
    """The messages as the gym has them."""
    assistant = [{"role": "assistant", "content": one} for one in (first, second)]
    return [*prompt, assistant[0], *feedback, assistant[1]]


def submitted(prompt, first, feedback, second):
    """The messages as TRL has them of warpgym.trl's environment."""
    from warpgym.trl import OVER  # noqa: PLC0415

    def call(answer):
        function = {"name": "submit", "arguments": {"answer": answer}}
        called = [{"type": "function", "function": function}]
        return {"role": "assistant", "content": "", "tool_calls": called}

    task = "\n\n".join(one["content"] for one in prompt)
    said = "\n\n".join(one["content"] for one in feedback)
    return [
        {"role": "user", "content": f"{task}\n\nSubmit your answer by `submit`: 2 attempts."},
        call(first),
        {"role": "tool", "name": "submit", "content": said},
        call(second),
        {"role": "tool", "name": "submit", "content": OVER},
        {"role": "assistant", "content": "That is all."},
    ]


def made_tokenizer(texts, template):
    inner = Tokenizer(models.BPE())
    # A clause may be one token: the prompts are long, and the same every time.
    clauses = pre_tokenizers.Split(Regex(r"[^.;:\n]*[.;:\n]\s*"), "isolated")
    by_byte = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    inner.pre_tokenizer = pre_tokenizers.Sequence([clauses, by_byte])
    inner.decoder = decoders.ByteLevel()
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=8192, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    inner.train_from_iterator(texts, trainer)
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner, eos_token="<|im_end|>", pad_token="<|endoftext|>"
    )
    tokenizer.chat_template = template
    return tokenizer


def made_model(tokenizer):
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=96,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=8192,
        tie_word_embeddings=True,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
    )
    return transformers.LlamaForCausalLM(config)


def tokens_of(tokenizer, messages, schemas):
    """The conversation's tokens, and which of them the model writes."""

    def tokens(count, **more):
        return tokenizer.apply_chat_template(
            messages[:count], tools=schemas, return_dict=False, **more
        )

    ids, own = [], []
    for i, message in enumerate(messages):
        if message["role"] == "assistant":
            before = tokens(i, add_generation_prompt=True)
            after = tokens(i + 1)
            after = after[: len(after) - after[::-1].index(tokenizer.eos_token_id)]
            assert after[: len(before)] == before and before[: len(ids)] == ids
            own += [0] * (len(before) - len(ids)) + [1] * (len(after) - len(before))
            ids = after
    return torch.tensor(ids), torch.tensor(own, dtype=torch.bool)


def fit(model, rows, pad, epochs):
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    steps = epochs * ((len(rows) + 7) // 8)
    schedule = transformers.get_cosine_schedule_with_warmup(optimizer, 10, steps)
    for epoch in range(epochs):
        for chosen in torch.randperm(len(rows)).split(8):
            ids, own = zip(*(rows[i] for i in chosen), strict=True)
            ids = torch.nn.utils.rnn.pad_sequence(ids, True, pad)
            own = torch.nn.utils.rnn.pad_sequence(own, True, False)
            # Of all positions that the model writes, no other needs its logits.
            hidden = model.model(ids[:, :-1]).last_hidden_state[own[:, 1:]]
            loss = torch.nn.functional.cross_entropy(model.lm_head(hidden), ids[:, 1:][own[:, 1:]])
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
        if epoch % 10 == 9:
            print(f"epoch {epoch + 1} of {epochs}: loss {loss.item():.3f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description="Makes a tiny model that errs.")
    parser.add_argument("--url", help="of the gym's server")
    parser.add_argument("--out", default="models/tiny", help="its directory")
    parser.add_argument("--submit", action="store_true", help="it calls submit, as TRL offers it")
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)
    schemas, template, form = None, TEMPLATE, plain
    if arguments.submit:
        from transformers.utils import get_json_schema  # noqa: PLC0415
        from trl.chat_template_utils import qwen2_5_chat_template  # noqa: PLC0415
        from warpgym.trl import KernelEnvironment  # noqa: PLC0415

        schemas = [get_json_schema(KernelEnvironment.submit)]
        template, form = qwen2_5_chat_template, submitted
    played = [form(*one) for one in conversations(arguments.url)]
    draft = made_tokenizer([], template)
    texts = [draft.apply_chat_template(one, tools=schemas, tokenize=False) for one in played]
    tokenizer = made_tokenizer(texts, template)
    rows = [tokens_of(tokenizer, one, schemas) for one in played]
    longest = max(len(ids) for ids, _ in rows)
    model = made_model(tokenizer)
    print(f"{len(rows)} conversations of up to {longest} tokens, {model.num_parameters()} weights")
    fit(model, rows, tokenizer.pad_token_id, arguments.epochs)
    model.generation_config = transformers.GenerationConfig(
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id
    )
    model.save_pretrained(arguments.out)
    tokenizer.save_pretrained(arguments.out)
    print(f"{arguments.out}: it calls submit" if arguments.submit else arguments.out)


if __name__ == "__main__":
    main()
