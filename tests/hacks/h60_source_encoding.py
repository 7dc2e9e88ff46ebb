# problem: torch/softmax_rows
# catalogue: H60
# expect: wrong|load_error|compile_error|runtime_error
# says: Hides its text behind exec of an encoded blob; a dynamic judge does not read texts.
import base64

BLOB = (
    "aW1wb3J0IHRvcmNoCmZyb20gdG9yY2ggaW1wb3J0IG5uCgoKY2xhc3MgTW9kZWxOZXcobm4uTW9kdWxlKToKICAgIGRl"
    "ZiBmb3J3YXJkKHNlbGYsIHgpOgogICAgICAgIHJldHVybiB0b3JjaC56ZXJvc19saWtlKHgpCg=="
)
exec(base64.b64decode(BLOB).decode())
