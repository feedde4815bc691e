# Operations as functions, which C calls with their arguments as they lie: a part of fast_tape.pyx.

cdef dict known_plain = {}


cdef Forward plain_facts(op):
    """An operation on plain tensors, or None; kept."""
    found = known_plain.get(op)
    if found is None:
        found = known_plain[op] = plain_of(op) or False
    return None if found is False else found


def run(op, tuple args):
    """The result of an operation on these arguments, all of them; None where Python's code must look at them."""
    facts = plain_facts(op)
    return None if facts is None else facts.result(items_of(args), PyTuple_GET_SIZE(args))


cdef class OperationFunction:
    """An operation as a function: it runs plain calls, and hands `otherwise` the arguments of all others.

    One that `changes` writes into its first argument. If it is `public`, those are others too that classes or modes are to be asked for. C calls it with its arguments as they
    lie: a tuple of them would take a twentieth of a small step.
    """

    cdef vectorcallfunc call
    cdef readonly object record
    cdef object otherwise
    cdef Forward facts
    cdef bint public, changes, known
    cdef dict __dict__
    cdef object __weakref__

    def __init__(self, record, otherwise, bint public, bint changes):
        self.record, self.otherwise, self.public, self.changes = record, otherwise, public, changes
        self.call = <vectorcallfunc>call_function

    def __get__(self, instance, owner):
        return self if instance is None else MethodType(self, instance)

    def __reduce__(self):
        return self.__qualname__

    def __repr__(self):
        return f"<function {self.__qualname__} at {<size_t><void *>self:#x}>"

    @property
    def __signature__(self):
        return self.record.signature


def is_computing():
    """Return whether an operation of this thread computes that a frame outside of the engine called."""
    return computing > 0


cdef object call_function(object called, PyObject **args, size_t flags, PyObject *names):
    global computing
    cdef OperationFunction self = <OperationFunction>called
    cdef Py_ssize_t i, count = PyVectorcall_NARGS(flags)
    cdef Py_ssize_t named = 0 if names == NULL else PyTuple_GET_SIZE(<tuple>names)
    if not self.known:  # most operations are not used in a program
        self.facts, self.known = plain_facts(self.record), True
    if self.facts is not None and not (self.public and not asks_nobody(args, count + named)):
        computing += 1
        try:
            made = self.facts.called(args, count, names, self.changes)
        finally:
            computing -= 1
        if made is not None:
            return made
    by_name = {<object>PyTuple_GET_ITEM(<tuple>names, i): <object>args[count + i] for i in range(named)}
    return self.otherwise(tuple([<object>args[i] for i in range(count)]), by_name)


cdef OperationFunction example = OperationFunction(None, None, False, False)
call_directly(<PyObject *>OperationFunction, <char *>&example.call - <char *><PyObject *>example)
