# Operations on plain tensors: a part of fast_tape.pyx.

DEF MOST = 12
DEF SAVES = 12

cdef enum Saving:
    OF_RESULT, OF_TENSOR, OF_LIST, OF_VALUE, OF_SIZES, OF_STRIDES, OF_DTYPE, OF_RESULT_SIZES, OF_RESULT_DTYPE

cdef struct Operands:
    PyObject *given[MOST]  # the arguments, with tensors in place of numbers; owned
    PyObject *raws[MOST]  # the same, with arrays in place of tensors, lists of them in place of lists; owned


@cython.internal
cdef class Forward:
    """An operation on plain tensors: its results and their node, or None where something is not plain.

    `tensors`: where they stand among the arguments, whether each may be None, and whether it is a list. `inputs`: which
    of them have a derivative. `saving`: for each saved thing (guard, kind, argument).
    """

    cdef object op, node, kernel, usual, ufunc
    cdef tuple names, defaults
    cdef Kernel looking
    cdef int count, positional, tensors, inputs, saved, single
    cdef int ones[MOST]
    cdef int at[MOST]
    cdef bint optional[MOST]
    cdef bint lists[MOST]
    cdef bint constant[MOST]
    cdef int edge_at[MOST]
    cdef int guards[SAVES]
    cdef int kinds[SAVES]
    cdef int froms[SAVES]
    cdef char sign
    cdef bint promotes, floating, numbers, floating_numbers, exact_numbers, elementwise, view, multiple, flattens
    cdef bint complex_gradient, random, checks_memory, apart, saves_self, saves_result
    cdef int self_guard

    def __init__(self, op, kernel, tensors, inputs, saving):
        self.op, self.node, self.kernel = op, op.node if inputs else None, kernel
        self.looking = kernel if isinstance(kernel, Kernel) else None
        self.names, self.defaults, self.positional = op.names, op.defaults, op.positional
        self.count, self.tensors, self.inputs, self.saved = len(op.schema.parameters), len(tensors), len(inputs), len(saving)
        self.single = len(op.numbers)
        for i, position in enumerate(op.numbers):
            self.ones[i] = position
        self.sign = ord(op.sign) if op.sign else 0
        self.promotes, self.floating = bool(op.promotes), op.floating
        self.numbers, self.floating_numbers = op.promotes and not op.strict, op.promotes == "floating"
        self.exact_numbers = op.opmath == "exact numbers"
        self.elementwise, self.view, self.multiple, self.flattens = op.elementwise, op.view, op.multiple, op.flattens
        self.ufunc = UFUNCS[op.sign] if op.sign else kernel if isinstance(kernel, np.ufunc) and op.floating else None
        for i, (position, optional, many) in enumerate(tensors):
            self.at[i], self.optional[i], self.lists[i] = position, optional, many
            self.constant[i] = op.schema.parameters[position].name in op.constants
        for i, position in enumerate(inputs):
            self.edge_at[i] = position
        self.complex_gradient = op.complex_gradient
        self.random, self.checks_memory, self.apart = op.random, op.overlap != "any", op.overlap == "none"
        self.saves_self, self.self_guard = "self" in op.saved_names, -1
        if self.saves_self and op.required_edges["self"] is not None:
            self.self_guard = op.required_edges["self"]
        self.saves_result = any([kind == OF_RESULT for _, kind, _ in saving])
        for i, (guard, kind, argument) in enumerate(saving):
            self.guards[i] = -1 if guard is None else guard
            self.kinds[i], self.froms[i] = kind, -1 if argument is None else argument
        values = all([kind == OF_VALUE for _, kind, _ in saving])
        # What a node saves where that is nothing but defaults: one tuple for all of them.
        self.usual = tuple([op.schema.parameters[at].default for _, _, at in saving]) if values else None

    cdef object called(self, PyObject **args, Py_ssize_t count, PyObject *names, bint changes):
        """The result of a call, whose last arguments may be left out or given by name, or the change that it makes; None
        likewise."""
        cdef PyObject *given[MOST]
        cdef Py_ssize_t i, at, named = 0 if names == NULL else PyTuple_GET_SIZE(<tuple>names)
        if count == self.positional == self.count and not named:
            return self.change(args, count) if changes else self.result(args, count)
        if count > self.positional:
            return None
        for i in range(self.count):
            given[i] = args[i] if i < count else PyTuple_GET_ITEM(self.defaults, i)
        for i in range(named):
            at = self.place_of(PyTuple_GET_ITEM(<tuple>names, i))
            if at < count:
                return None
            given[at] = args[count + i]
        for i in range(count, self.count):
            if given[i] == <PyObject *>REQUIRED:
                return None
        return self.change(given, self.count) if changes else self.result(given, self.count)

    cdef Py_ssize_t place_of(self, PyObject *name) noexcept:
        """Return the place of the argument of this name; -1 if there is none."""
        cdef Py_ssize_t i
        for i in range(self.count):
            if PyTuple_GET_ITEM(self.names, i) == name:
                return i
        return -1

    cdef object result(self, PyObject **args, Py_ssize_t count):
        """The result of the operation on these arguments; None where Python's code must look at them."""
        cdef Operands x
        if count != self.count or SLOT(<PyObject *>process_state, SPECIAL) != <PyObject *>ZERO and not self.unwrapped():
            return None
        self.take(args, &x)
        try:
            return self.made(&x) if self.plain(&x) and (self.has_dtype(&x) or self.cast(&x)) else None
        finally:
            self.give_back(&x)

    cdef object change(self, PyObject **args, Py_ssize_t count):
        """The first argument, into which the result was written; None where Python's code must look at them."""
        cdef Operands x
        if count != self.count or self.multiple or self.view or SLOT(<PyObject *>process_state, SPECIAL) != <PyObject *>ZERO:
            return None
        self.take(args, &x)
        try:
            return written(self, &x) if self.plain(&x) and self.has_dtype(&x) and may_change(x.given[0]) else None
        finally:
            self.give_back(&x)

    cdef void take(self, PyObject **args, Operands *x) noexcept:
        cdef int i
        for i in range(self.count):
            x.given[i] = x.raws[i] = args[i]
            Py_INCREF(<object>args[i])
            Py_INCREF(<object>args[i])

    cdef void give_back(self, Operands *x) noexcept:
        cdef int i
        for i in range(self.count):
            Py_XDECREF(x.given[i])
            Py_XDECREF(x.raws[i])

    cdef bint unwrapped(self):
        """Return whether all modes that are on are transforms that leave plain tensors alone."""
        return SLOT(<PyObject *>process_state, SPECIAL) == SLOT(<PyObject *>process_state, TRANSFORMS) and not self.random

    cdef bint plain(self, Operands *x) except -1:
        """Return whether the arguments are plain; takes the arrays of the tensors."""
        cdef int i, position
        cdef PyObject *given
        cdef PyObject *raw
        cdef PyObject *kind
        for i in range(self.tensors):
            position = self.at[i]
            given = x.given[position]
            if self.lists[i]:
                found = raws_of(<object>given, self.optional[i])
                if found is None:
                    return False
                Py_INCREF(found)
                Py_XDECREF(x.raws[position])
                x.raws[position] = <PyObject *>found
                continue
            if self.optional[i] and given == <PyObject *>None:
                continue
            if not is_tensor(given):
                if not (self.numbers and i and (PyFloat_CheckExact(given) or PyLong_CheckExact(given))):
                    return False
                wrapped = wrap_number(<object>given, <object>x.given[0], self.floating_numbers, self.exact_numbers)
                Py_INCREF(wrapped)
                Py_XDECREF(given)
                given = x.given[position] = <PyObject *>wrapped
            raw = SLOT(given, RAW)
            if raw == NULL or dtype_of(raw) == NULL or self.constant[i] and SLOT(given, EDGE) != <PyObject *>None:
                return False
            Py_XINCREF(raw)
            Py_XDECREF(x.raws[position])
            x.raws[position] = raw
        for i in range(self.single):
            if is_tensor(x.given[self.ones[i]]):
                return False
        if self.view and type_of(x.raws[0]) != ndarray:
            replace(&x.raws[0], materialize(<object>x.given[0]))
        return True

    cdef bint has_dtype(self, Operands *x):
        """Return whether the kernel takes the arrays without a cast."""
        cdef int i
        cdef PyObject *first
        cdef PyObject *raw
        if not self.promotes and not self.floating and self.complex_gradient:
            return True
        first = dtype_of(x.raws[self.at[0]])
        if not self.complex_gradient and first != <PyObject *>DTYPE32 and first != <PyObject *>DTYPE64:
            return False
        if self.promotes:
            for i in range(1, self.tensors):
                raw = x.raws[self.at[i]]
                if raw != <PyObject *>None and dtype_of(raw) != first:
                    return self.exact_numbers and self.beside_number(x)
        return not self.floating or is_floating_dtype(first)

    cdef bint beside_number(self, Operands *x):
        """Return whether a number in float32, which the kernel takes unrounded, stands beside an array of 16-bit floats."""
        cdef PyObject *first = x.raws[0]
        if type_of(first) != ndarray or type_of(x.raws[1]) == ndarray or dtype_of(x.raws[1]) != <PyObject *>DTYPE32:
            return False
        if not cnp.PyArray_NDIM(<cnp.ndarray>first) or cnp.PyArray_ITEMSIZE(<cnp.ndarray>first) != 2:
            return False
        return is_floating_dtype(dtype_of(first)) or cnp.PyArray_ISUSERDEF(<cnp.ndarray>first)

    cdef bint all_arrays(self, Operands *x):
        """Return whether all tensors have arrays, or scalars, of a dtype that is known here: no list has."""
        cdef int i
        cdef PyObject *raw
        for i in range(self.tensors):
            raw = x.raws[self.at[i]]
            if dtype_of(raw) == NULL and (raw != <PyObject *>None or i == 0):
                return False
        return True

    cdef bint cast(self, Operands *x):
        """Cast the arrays to what the kernel takes (`promoted` and `as_floating` of dispatch.py); whether there is such a
        dtype."""
        cdef int i
        cdef PyObject *raw
        if self.view or not self.promotes and not self.floating or not self.all_arrays(x):
            return False
        if self.promotes:
            raws = [<object>x.raws[self.at[i]] for i in range(self.tensors) if x.raws[self.at[i]] != <PyObject *>None]
            common = raws[0].dtype
            if any([one.dtype is not common for one in raws]):
                if self.exact_numbers and common.itemsize == 2:
                    return False
                if self.op.check is not None:
                    self.op.check(*raws)
                common = result_dtype(*raws)
                for i in range(self.tensors):
                    raw = x.raws[self.at[i]]
                    if raw != <PyObject *>None and dtype_of(raw) != <PyObject *>common:
                        replace(&x.raws[self.at[i]], cast(<object>raw, common))
        if not self.all_arrays(x):  # NumPy gives a scalar of a dtype that the tape does not know
            return False
        if self.floating and not is_floating_dtype(dtype_of(x.raws[self.at[0]])):
            replace(&x.raws[self.at[0]], as_floating(<object>x.raws[self.at[0]]))
        return self.has_dtype(x)

    cdef object computed(self, Operands *x):
        """Run the kernel on the arrays."""
        cdef int i
        cdef PyObject *first
        cdef Kernel looking
        cdef bint signed = self.sign != 0
        for i in range(2, self.count):
            signed = signed and x.given[i] == PyTuple_GET_ITEM(self.defaults, i)
        try:
            if self.ufunc is not None and (signed or not self.sign) and self.is_large(x):
                arrays = tuple([<object>x.raws[self.at[i]] for i in range(self.tensors)])
                return threads.shared(self.ufunc, arrays, np.empty_like(arrays[0]))
            first = dtype_of(x.raws[0])
            if signed and first != NULL and (<cnp.dtype>first).itemsize != 2:  # else rounded once, in the kernel
                found = by_columns(self.sign, x.raws[0], x.raws[1])
                if found is not None:
                    return found
                if self.sign == c'*':
                    return PyNumber_Multiply(<object>x.raws[0], <object>x.raws[1])
                return PyNumber_Add(<object>x.raws[0], <object>x.raws[1])
            if self.looking is not None:
                return self.looking.of(x.raws, self.count)
            return PyObject_Vectorcall(<PyObject *>self.kernel, x.raws, self.count, NULL)
        except Exception:
            explain(self.op, self.arguments(x), tuple([<object>x.raws[self.at[i]] for i in range(self.tensors)]))
            raise

    cdef bint is_large(self, Operands *x) except -1:
        """Return whether several threads are worth it, and the arrays such as they can share."""
        cdef int i
        cdef PyObject *raw
        cdef cnp.ndarray first
        if type_of(x.raws[self.at[0]]) != ndarray:
            return False
        first = <cnp.ndarray>x.raws[self.at[0]]
        if cnp.PyArray_SIZE(first) < LARGE or threads.count < 2 or not cnp.PyArray_ISFLOAT(first):
            return False
        for i in range(self.tensors):
            raw = x.raws[self.at[i]]
            if type_of(raw) != ndarray:
                continue
            if not cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>raw) or not cnp.PyArray_SAMESHAPE(<cnp.ndarray>raw, first):
                return False
        return True

    cdef tuple arguments(self, Operands *x):
        cdef int i
        return tuple([<object>x.given[i] for i in range(self.count)])

    cdef object made(self, Operands *x):
        """The result, or all of them in a tuple, with a node where one is to be recorded."""
        cdef int i
        cdef PyObject *first
        node = None
        found = self.computed(x)
        if self.multiple:
            outputs = tuple([tensor_of(raw) for raw in found])
        else:
            if self.elementwise and type_of(<PyObject *>found) == ndarray and cnp.PyArray_NDIM(<cnp.ndarray>found) > 1:
                first = x.raws[self.at[0]]
                if type_of(first) == ndarray and not cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>first) and not self.in_rows(found, x):
                    found = settled(found, *[<object>x.raws[self.at[i]] for i in range(self.tensors)])
            outputs = (tensor_of(found),)
        if SLOT(<PyObject *>process_state, SPECIAL) != <PyObject *>ZERO and thread_state.levels:
            for made in outputs:
                level = thread_state.levels[-1]
                put_slot(<PyObject *>made, BORN, <PyObject *>level)
        if self.followed(x) and (SLOT(<PyObject *>process_state, WITHOUT_GRAD) == <PyObject *>ZERO or thread_state.grad):
            node = self.record(outputs, x)
        if self.view:
            for made in outputs:
                hang(made, x.given[0], self.multiple)
        if SLOT(<PyObject *>process_state, OBSERVER) != <PyObject *>None:
            if node is None:
                process_state.observer.untracked(self.op.name, self.op, self.arguments(x), outputs)
            else:
                process_state.observer.created(node, self.arguments(x), outputs)
        return outputs if self.multiple else outputs[0]

    cdef bint in_rows(self, object found, Operands *x):
        """Return whether a result lies row by row as its operands do, perhaps slices or expanded: as PyTorch does."""
        cdef int i, d
        cdef Py_ssize_t before
        cdef cnp.ndarray operand
        if not cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>found):
            return False
        for i in range(self.tensors):
            if type_of(x.raws[self.at[i]]) != ndarray:
                continue
            operand = <cnp.ndarray>x.raws[self.at[i]]
            before = 0  # the last stride that moves
            for d in range(cnp.PyArray_NDIM(operand)):
                if cnp.PyArray_DIM(operand, d) < 2 or cnp.PyArray_STRIDE(operand, d) < 0:
                    return False
                if cnp.PyArray_STRIDE(operand, d):
                    if before and cnp.PyArray_STRIDE(operand, d) >= before:
                        return False
                    before = cnp.PyArray_STRIDE(operand, d)
        return True

    cdef bint followed(self, Operands *x) except -1:
        """Return whether an input has something in the place of its edge."""
        cdef int i
        cdef PyObject *given
        for i in range(self.inputs):
            given = x.given[self.edge_at[i]]
            if self.flattens and not is_tensor(given):
                for one in <object>given:
                    if one is not None and has_edge(<PyObject *>one):
                        return True
            elif given != <PyObject *>None and has_edge(given):
                return True
        return False

    cdef tuple edges(self, Operands *x):
        """One edge for each input, lists laid out flat; None where no input has an edge after all."""
        cdef int i
        cdef PyObject *tensor
        cdef bint any_edge = False
        cdef list inputs = None
        if self.flattens:
            inputs = []
            for i in range(self.inputs):
                given = <object>x.given[self.edge_at[i]]
                inputs += [given] if is_tensor(<PyObject *>given) else given
        count = self.inputs if inputs is None else len(inputs)
        edges = PyTuple_New(count)
        for i in range(count):
            tensor = x.given[self.edge_at[i]] if inputs is None else PyList_GET_ITEM(<PyObject *>inputs, i)
            edge = None if tensor == <PyObject *>None else edge_to(tensor)
            any_edge = any_edge or edge is not None
            Py_INCREF(edge)
            PyTuple_SET_ITEM(edges, i, edge)
        if not any_edge:
            for t in [<object>x.given[self.edge_at[i]] for i in range(self.inputs)] if inputs is None else inputs:
                if t is not None and t.requires_grad:
                    return edges
            return None
        return edges

    cdef object record(self, tuple outputs, Operands *x):
        """Give the results their node; None where no input has an edge after all."""
        cdef int i
        # As in PyTorch before the edges: the history of a view that is worked out anew has a later number.
        number = next_of(sequence_numbers)
        edges = self.edges(x)
        if edges is None:
            return None
        node = self.node_of(number, edges, outputs, x)
        for i in range(len(outputs)):
            made = outputs[i]
            if not self.multiple:
                if not self.promotes and not self.floating:  # which give integers of integers only
                    check_differentiable((<object>SLOT(<PyObject *>made, RAW)).dtype)
            elif not self.differentiable(i, SLOT(<PyObject *>made, RAW)):
                continue
            edge = (node, i)
            put_slot(<PyObject *>made, EDGE, <PyObject *>edge)
        return node

    cdef object node_of(self, object number, tuple edges, tuple outputs, Operands *x):
        """The node of these results, which do not hang on it yet."""
        node = new_of(<PyObject *>self.node)
        put_slot(<PyObject *>node, EDGES, <PyObject *>edges)
        put_slot(<PyObject *>node, EXTRA, <PyObject *>None)
        put_slot(<PyObject *>node, SEQ, <PyObject *>number)
        if self.multiple:
            like = [like_of(SLOT(<PyObject *>made, RAW), NULL) for made in outputs]
        else:
            like = like_of(SLOT(<PyObject *>outputs[0], RAW), <PyObject *>PyTuple_GET_ITEM(edges, 0))
        put_slot(<PyObject *>node, LIKE, <PyObject *>like)
        self.save(node, edges, outputs, x)
        return node

    cdef bint differentiable(self, int i, PyObject *raw) except -1:
        """Return whether an output of several can have a gradient, by its name and its dtype."""
        names = self.op.schema.outputs
        if self.op.nondifferentiable and names[i if i < len(names) else 0] in self.op.nondifferentiable:
            return False
        return CATEGORY[(<object>raw).dtype] >= FLOATING

    cdef bint only_defaults(self, Operands *x):
        """Return whether all that a node saves, plain values, are the defaults."""
        cdef int i
        for i in range(self.saved):
            if x.given[self.froms[i]] != PyTuple_GET_ITEM(<tuple>self.usual, i):
                return False
        return True

    cdef int save(self, object node, tuple edges, tuple outputs, Operands *x) except -1:
        """Keep with the node what its formulas name, and the versions of it that are not 0."""
        cdef int i, kind, guard
        cdef PyObject *given
        cdef PyObject *raw
        if self.usual is not None and self.only_defaults(x):
            put_slot(<PyObject *>node, SAVED, <PyObject *>self.usual)
            return 0
        saved = PyTuple_New(self.saved)
        for i in range(self.saved):
            kind, guard = self.kinds[i], self.guards[i]
            given = raw = NULL
            if self.froms[i] >= 0 and kind != OF_RESULT:
                given, raw = x.given[self.froms[i]], x.raws[self.froms[i]]
            wanted = guard < 0 or <PyObject *>PyTuple_GET_ITEM(edges, guard) != <PyObject *>None
            if kind == OF_RESULT:
                item = saved_result(<PyObject *>outputs[self.froms[i]])
            elif kind == OF_TENSOR:
                item = <object>given if wanted else None
            elif kind == OF_VALUE:
                item = <object>given
            elif kind == OF_LIST:
                item = saved_list(<object>given)
            elif kind == OF_RESULT_SIZES:
                item = (<object>SLOT(<PyObject *>outputs[0], RAW)).shape
            elif kind == OF_RESULT_DTYPE:
                item = (<object>SLOT(<PyObject *>outputs[0], RAW)).dtype
            elif given == <PyObject *>None:
                item = None
            elif not wanted:
                item = ()
            elif type_of(raw) == <PyObject *>list:
                item = tuple([property_of(kind, one) for one in <list>raw])
            else:
                item = property_of(kind, <object>raw)
            Py_INCREF(item)
            PyTuple_SET_ITEM(saved, i, item)
        put_slot(<PyObject *>node, SAVED, <PyObject *>saved)
        for i in range(self.saved):
            given = <PyObject *>PyTuple_GET_ITEM(saved, i)
            if self.kinds[i] == OF_TENSOR:
                if given != <PyObject *>None and changed(counter_in(given)):
                    expect(node, i, <object>given)
            elif self.kinds[i] == OF_RESULT:
                if changed(SLOT(given, SAVED_COUNTER)):
                    expect(node, i, <object>given)
        return 0


cdef inline void replace(PyObject **at, object x) noexcept:
    Py_INCREF(x)
    Py_XDECREF(at[0])
    at[0] = <PyObject *>x


cdef inline bint has_edge(PyObject *x) except -1:
    """Return whether something stands in the place of the edge of what was a tensor."""
    if not is_tensor(x):
        raise TypeError(f"expected a Tensor, got '{type(<object>x).__name__}'")
    return SLOT(x, EDGE) != <PyObject *>None


cdef list raws_of(object tensors, bint optional):
    """The arrays of a list of plain tensors; None of any other."""
    cdef PyObject *raw
    if not isinstance(tensors, (list, tuple)):
        return None
    cdef list raws = []
    for one in tensors:
        if one is None and optional:
            raws.append(None)
            continue
        raw = SLOT(<PyObject *>one, RAW) if is_tensor(<PyObject *>one) else NULL
        if raw == NULL or dtype_of(raw) == NULL:
            return None
        raws.append(<object>raw)
    return raws


cdef int hang(object made, PyObject *source, bint multiple) except -1:
    """`make_view`, whose common case is a view of what is no view or one of the memory as it is, with grad mode on."""
    edge = <object>SLOT(<PyObject *>made, EDGE)
    cdef PyObject *seen = edge_in(source)
    cdef PyObject *base = source
    cdef PyObject *versions
    cdef PyObject *creation = <PyObject *>NO_REASON
    if type_of(seen) == <PyObject *>View:
        base, creation = SLOT(seen, VIEW_BASE), SLOT(seen, VIEW_CREATION)
        if SLOT(seen, VIEW_PATH) != <PyObject *>None:
            make_view(made, <object>source, edge, multiple)
            return 0
    if multiple:
        creation = <PyObject *>(NO_GRAD if edge is None else MULTIPLE)
    versions = counter_in(base)
    if versions == <PyObject *>INFERENCE or SLOT(<PyObject *>process_state, WITHOUT_GRAD) != <PyObject *>ZERO:
        make_view(made, <object>source, edge, multiple)
        return 0
    if versions == <PyObject *>None:
        counter = [0]
        put_slot(base, COUNTER, <PyObject *>counter)
        versions = <PyObject *>counter
    put_slot(<PyObject *>made, COUNTER, versions)
    view = new_of(<PyObject *>View)
    put_slot(<PyObject *>view, VIEW_BASE, base)
    put_slot(<PyObject *>view, VIEW_EDGE, <PyObject *>edge)
    put_slot(<PyObject *>view, VIEW_PATH, <PyObject *>None)
    put_slot(<PyObject *>view, VIEW_VERSION, PyList_GET_ITEM(versions, 0))
    put_slot(<PyObject *>view, VIEW_CREATION, creation)
    put_slot(<PyObject *>made, EDGE, <PyObject *>view)
    return 0


cdef inline bint changed(PyObject *counter):
    """Return whether a version must be looked at: it is not 0, or nobody counts."""
    return counter != <PyObject *>None and (
        counter == <PyObject *>INFERENCE or PyList_GET_ITEM(counter, 0) != <PyObject *>ZERO
    )


cdef Forward plain_of(op):
    """An operation on plain tensors, or None."""
    parameters = op.schema.parameters
    tensors = [(i, p.type.startswith("Tensor?"), p.is_list) for i, p in op.positions]
    kinds = {"sizes": OF_SIZES, "strides": OF_STRIDES, "dtype": OF_DTYPE}
    saving = []
    for name, (guard, output, argument, what) in zip(op.saved_names, op.saving, strict=True):
        if output is not None:
            kind, argument = OF_RESULT, output
        elif what == "":
            parameter = parameters[argument]
            kind = OF_TENSOR if parameter.is_tensor else OF_LIST if parameter.is_list else OF_VALUE
        elif argument is None:
            kind = {"sizes": OF_RESULT_SIZES, "dtype": OF_RESULT_DTYPE}.get(what)
        else:
            kind = kinds.get(what)
        if kind is None:
            return None
        saving.append((guard, kind, argument))
    if op.promotes and (len(tensors) < 2 or op.takes_lists) or op.floating and not op.promotes and len(tensors) != 1:
        return None
    if op.moves or op.rereads or op.output_mask is not None or not op.has_derivative or not tensors:
        return None
    if len(parameters) > MOST or len(saving) > SAVES:
        return None
    return Forward(op, op.kernel_function, tensors, [i for i, _ in op.input_positions], saving)
