/* A program whose main function is that of wrapped.c, in a library. */

int wrapped_main(void);

int main(void) { return wrapped_main(); }
