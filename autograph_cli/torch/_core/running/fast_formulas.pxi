# What nodes save, and how the gradients of an operation are computed: a part of fast_tape.pyx.

cdef object property_of(int kind, object raw):
    """Return what is saved of an array in its place."""
    if kind == OF_SIZES:
        return raw.shape
    return strides_in(raw) if kind == OF_STRIDES else raw.dtype


cdef object strides_in(object raw):
    """`strides_of`, whose common case is an array without a stride of 0."""
    cdef int i
    cdef cnp.ndarray array
    cdef object step
    if type_of(<PyObject *>raw) != ndarray:
        return strides_of(raw)
    array = <cnp.ndarray>raw
    found = PyTuple_New(cnp.PyArray_NDIM(array))
    for i in range(cnp.PyArray_NDIM(array)):
        if not cnp.PyArray_STRIDE(array, i):
            return strides_of(raw)
        step = cnp.PyArray_STRIDE(array, i) // cnp.PyArray_ITEMSIZE(array)
        Py_INCREF(step)
        PyTuple_SET_ITEM(found, i, step)
    return found


cdef object saved_list(object tensors):
    """`SavedList(tensors)`."""
    cdef PyObject *counter
    cdef list versions = []
    given = getattr(tensors, "given", None) if type(tensors) is Indices else None
    given = None if given is None else saved_list(given)
    for one in tensors:
        if one is not None and not is_tensor(<PyObject *>one):
            return SavedList(tensors)
        counter = <PyObject *>None if one is None else counter_in(<PyObject *>one)
        if counter == <PyObject *>INFERENCE:
            return SavedList(tensors)
        versions.append(ZERO if counter == <PyObject *>None else <object>PyList_GET_ITEM(counter, 0))
    made, held = new_of(<PyObject *>SavedList), list(tensors)
    put_slot(<PyObject *>made, LIST_GIVEN, <PyObject *>given)
    put_slot(<PyObject *>made, LIST_ITEMS, <PyObject *>held)
    put_slot(<PyObject *>made, LIST_VERSIONS, <PyObject *>versions)
    return made


cdef object saved_result(PyObject *made):
    """A result as its own node saves it."""
    if SLOT(made, COUNTER) == <PyObject *>None:
        counter = [0]
        put_slot(made, COUNTER, <PyObject *>counter)
    item = new_of(<PyObject *>SavedResult)
    put_slot(<PyObject *>item, SAVED_RAW, SLOT(made, RAW))
    put_slot(<PyObject *>item, SAVED_COUNTER, SLOT(made, COUNTER))
    return item

# ---------------------------------------------------------------- formulas

@cython.internal
cdef class Sums:
    """The sums of gradients that a pass works out: each is an array that only the pass holds."""

    cdef dict pending
    cdef set targets

    def __init__(self, pending):
        self.pending, self.targets = pending, set()

    cdef object of(self, tuple edge):
        """The sum that waits at the end of an edge; None where there is none yet."""
        return self.pending[edge[0]] if edge[0] in self.targets else None


cdef enum Need:  # as in formulas.py
    GRAD, ONLY_GRAD, SAVED_TENSOR, SAVED_LIST, SAVED_VALUE, WANTED, TOTAL


@cython.internal
cdef class Formula:
    """A `Formula` of formulas.py."""

    cdef object function
    cdef tuple targets
    cdef bint joint
    cdef int count
    cdef int kinds[MOST]
    cdef int numbers[MOST]

    def __init__(self, plan):
        self.function, self.joint, self.targets, self.count = plan.function, plan.joint, plan.targets, len(plan.needs)
        for i, (kind, number) in enumerate(plan.needs):
            self.kinds[i], self.numbers[i] = kind, number

    cdef object run(self, Facts facts, object node, object f, object grad, object saved, tuple edges, bint recorded, Sums sums):
        """Run the formula of a node, on tensors if it is `recorded`."""
        cdef int i, j
        cdef PyObject *args[MOST + 1]
        cdef list held = []
        args[0] = <PyObject *>f
        for i in range(self.count):
            if self.kinds[i] == GRAD:
                args[i + 1] = <PyObject *>grad
                continue
            if self.kinds[i] == SAVED_TENSOR:
                item = unpacked(facts, node, saved, self.numbers[i]) if recorded else opened(node, saved, self.numbers[i])
            elif self.kinds[i] == SAVED_LIST:
                item = saved[self.numbers[i]].tensors() if recorded else opened_list(saved[self.numbers[i]])
            elif self.kinds[i] == SAVED_VALUE:
                item = saved[self.numbers[i]]
            elif self.kinds[i] == ONLY_GRAD:
                item = grad[0]
            elif self.kinds[i] == TOTAL:
                item = None if sums is None else sums.of(edges[self.targets[0]])
            else:
                item = tuple([edges[j] is not None for j in self.targets])
            held.append(item)
            args[i + 1] = <PyObject *>item
        if facts.by_element and not recorded and are_large(args + 1, self.count) and threads.count > 1:
            return threads.in_blocks(self.function, tuple([<object>args[i] for i in range(self.count + 1)]))
        found = PyObject_Vectorcall(<PyObject *>self.function, args, self.count + 1, NULL)
        if facts.pointwise and not recorded and type_of(<PyObject *>found) == ndarray and cnp.PyArray_NDIM(<cnp.ndarray>found) > 1:
            for i in range(1, self.count + 1):
                if type_of(args[i]) == ndarray and not cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>args[i]):
                    return laid_out(found, [<object>args[j] for j in range(1, self.count + 1)])
        return found


cdef bint are_large(PyObject **args, int count):
    """Return whether threads can share the elements of the arrays, and it is worth it: of one size, in one piece."""
    cdef int i
    cdef cnp.ndarray first = None
    for i in range(count):
        if type_of(args[i]) != ndarray:
            continue
        if not cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>args[i]) or not cnp.PyArray_ISFLOAT(<cnp.ndarray>args[i]):
            return False
        if first is None:
            first = <cnp.ndarray>args[i]
            if cnp.PyArray_SIZE(first) < LARGE:
                return False
        elif not cnp.PyArray_SAMESHAPE(<cnp.ndarray>args[i], first):
            return False
    return first is not None


cdef bint unchanged(object node, Py_ssize_t index, PyObject *counter) except -1:
    """Return whether a saved tensor has the version that it was saved at."""
    cdef PyObject *extra
    if counter == <PyObject *>None:
        return True
    if not is_counter(counter):
        spoiled(<PyObject *>node, "_ag_saved")
    extra = SLOT(<PyObject *>node, EXTRA)
    if extra == <PyObject *>None:
        return PyList_GET_ITEM(counter, 0) == <PyObject *>ZERO
    if type_of(extra) != <PyObject *>Versions:
        return False
    return (<object>extra).versions.get(index, ZERO) == <object>PyList_GET_ITEM(counter, 0)


cdef object opened(object node, object saved, Py_ssize_t index):
    """The array of a saved tensor, whose version is checked."""
    cdef PyObject *item = <PyObject *>PyTuple_GET_ITEM(<tuple>saved, index)
    cdef PyObject *raw
    cdef PyObject *counter
    if item == <PyObject *>None:
        return None
    if type_of(item) == <PyObject *>SavedResult:
        raw, counter = SLOT(item, SAVED_RAW), SLOT(item, SAVED_COUNTER)
    elif is_tensor(item):
        raw, counter = SLOT(item, RAW), SLOT(item, COUNTER)
    else:
        return (<object>item)._ag_raw if (<object>item)._ag_counter is None else opened_raw(node, index)
    if raw == NULL:
        spoiled(item, "_ag_raw")
    if counter == <PyObject *>None or dtype_of(raw) != NULL and unchanged(node, index, counter):
        return <object>raw
    return opened_raw(node, index)


cdef bint as_saved(object kept) except -1:
    """Return whether a list holds tensors of arrays, at the versions that they were saved at, and None."""
    cdef Py_ssize_t i
    cdef PyObject *counter
    cdef list items, versions
    if type_of(<PyObject *>kept) != <PyObject *>SavedList:
        return False
    if type_of(SLOT(<PyObject *>kept, LIST_ITEMS)) != <PyObject *>list:
        spoiled(<PyObject *>kept, "_items")
    items = <list>SLOT(<PyObject *>kept, LIST_ITEMS)
    if type_of(SLOT(<PyObject *>kept, LIST_VERSIONS)) != <PyObject *>list:
        spoiled(<PyObject *>kept, "_versions")
    versions = <list>SLOT(<PyObject *>kept, LIST_VERSIONS)
    for i in range(min(len(items), len(versions))):
        one = items[i]
        if one is None:
            continue
        if not is_tensor(<PyObject *>one) or dtype_of(SLOT(<PyObject *>one, RAW)) == NULL:
            return False
        counter = counter_in(<PyObject *>one)
        if counter != <PyObject *>None and <object>PyList_GET_ITEM(counter, 0) != versions[i]:
            return False
    return len(items) == len(versions)


cdef bint is_given(PyObject *given) except -1:
    """Return whether what nodes show in place of a list is as it was, where there is something."""
    return given == <PyObject *>None or given != NULL and as_saved(<object>given)


cdef list opened_list(object kept):
    """`SavedList.raws`, whose common case is tensors that are as they were."""
    if not as_saved(kept) or not is_given(SLOT(<PyObject *>kept, LIST_GIVEN)):
        return kept.raws()
    return [
        None if one is None else <object>SLOT(<PyObject *>one, RAW) for one in <list>SLOT(<PyObject *>kept, LIST_ITEMS)
    ]


cdef object unpacked(Facts facts, object node, object saved, Py_ssize_t index):
    """`unpack`, whose common cases are a result and a tensor that has the history it had."""
    cdef PyObject *item = <PyObject *>PyTuple_GET_ITEM(<tuple>saved, index)
    cdef PyObject *edge
    cdef PyObject *then
    if type_of(item) == <PyObject *>SavedResult:
        if unchanged(node, index, SLOT(item, SAVED_COUNTER)) and SLOT(item, SAVED_RAW) != NULL:
            made = tensor_of(<object>SLOT(item, SAVED_RAW))
            put_slot(<PyObject *>made, COUNTER, SLOT(item, SAVED_COUNTER))
            number = facts.results[index]
            if number in facts.differentiable:
                own = (node, number)
                put_slot(<PyObject *>made, EDGE, <PyObject *>own)
            return made
    elif is_tensor(item) and unchanged(node, index, SLOT(item, COUNTER)):
        edge = edge_in(item)
        if facts.edges[index] is None or edge == <PyObject *>LEAF:
            return <object>item
        edges = edges_in(<PyObject *>node)
        if PyTuple_GET_SIZE(edges) < facts.inputs and not facts.flattens:
            spoiled(<PyObject *>node, "_ag_edges")
        then = <PyObject *>edges[facts.edges[index]]
        if edge == then or PyTuple_CheckExact(edge) and PyTuple_CheckExact(then) and <object>edge == <object>then:
            return <object>item
    return unpack(node, index)


@cython.internal
cdef class Facts:
    """The facts that `walk` asks of an operation's class of nodes; without `formulas`, Python computes gradients."""

    cdef object frees
    cdef bint takes_none, saves, flattens, pointwise, by_element
    cdef Py_ssize_t inputs
    cdef tuple formulas, in_recorded_order
    cdef tuple edges, results
    """For each saved thing, the number of the input or of the result that it is."""
    cdef object differentiable

    def __init__(self, cls):
        op = cls._ag_operation
        self.frees, self.takes_none, self.differentiable = cls._ag_frees, cls._ag_takes_none, cls._ag_differentiable
        self.edges, self.results = cls._ag_item_edges, cls._ag_item_results
        self.inputs, self.saves, self.flattens = len(op.inputs), bool(op.saved_names), op.flattens
        self.pointwise, self.by_element = bool(op.pointwise), op.pointwise and op.elementwise
        self.formulas = formulas_of(op, op.formulas)
        self.in_recorded_order = formulas_of(op, op.recorded_formulas)

    cdef object gradients(self, object node, object f, object grad, tuple edges, bint recorded, Sums sums):
        """The gradients of the inputs, as `Node._ag_run_raw` or `Node._ag_run_recorded` gives them."""
        cdef Formula formula
        cdef Py_ssize_t i
        cdef bint wanted
        cdef object saved
        if SLOT(<PyObject *>node, SAVED) == NULL:
            spoiled(<PyObject *>node, "_ag_saved")
        saved = <object>SLOT(<PyObject *>node, SAVED)
        if not self.formulas or (saved is not None and type(saved) is not tuple):
            compute = node._ag_run_recorded if recorded else node._ag_run_raw
            own = <PyObject *>edges == SLOT(<PyObject *>node, EDGES)
            return compute(f, grad) if own else compute(f, grad, edges)
        if self.saves and saved is None:
            raise freed()
        if self.saves and PyTuple_GET_SIZE(<tuple>saved) != PyTuple_GET_SIZE(self.edges):
            spoiled(<PyObject *>node, "_ag_saved")
        if not self.flattens and PyTuple_GET_SIZE(edges) < self.inputs:
            spoiled(<PyObject *>node, "_ag_edges")
        if self.flattens:
            formula = self.formulas[0]
            return formula.run(self, node, f, grad, saved, edges, recorded, sums)
        grads = [None] * self.inputs
        for formula in self.in_recorded_order if recorded else self.formulas:
            wanted = False
            for i in formula.targets:
                wanted = wanted or <PyObject *>PyTuple_GET_ITEM(edges, i) != <PyObject *>None
            if not wanted:
                continue
            found = formula.run(self, node, f, grad, saved, edges, recorded, sums)
            if formula.joint:
                for i, one in zip(formula.targets, found, strict=True):
                    grads[i] = one
            else:
                grads[formula.targets[0]] = found
        return tuple(grads)


cdef tuple formulas_of(op, plans):
    """The formulas of an operation; none where Python's code must call them."""
    if not op.has_derivative or any([len(plan.needs) > MOST for plan in plans]):
        return ()
    return tuple([Formula(plan) for plan in plans])


cdef dict known_facts = {}


cdef Facts facts_of(PyObject *node):
    """The facts of an operation's node; None of any other."""
    cdef PyObject *cls = type_of(node)
    found = known_facts.get(<object>cls)
    if found is None and (<object>cls)._ag_operation is not None:
        found = known_facts[<object>cls] = Facts(<object>cls)
    return found
