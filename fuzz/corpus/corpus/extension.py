SOURCE = r"""
/* c */ #include <x>
int f(int a) { return a; }
"""
x = 'a' "b
