/** Values that a handler may throw that break careless code. Each is created anew, since some remember having been read. */
export const hostile: Readonly<Record<string, () => unknown>> = {
  undefined: () => undefined,
  null: () => null,
  'an empty text': () => '',
  'a text': () => 'ECONNRESET',
  zero: () => 0,
  NaN: () => Number.NaN,
  'a bigint': () => 10n,
  'a symbol': () => Symbol('thrown'),
  'a function': () => () => 1,
  'a frozen object': () => Object.freeze({ name: 'Frozen' }),
  'an object without prototype': () => Object.create(null) as unknown,
  'an object whose names are no texts': () => ({ name: 7, code: {}, cause: 5, constructor: { name: Symbol('x') } }),
  'an error whose getters throw': () =>
    Object.defineProperties(new Error('x'), {
      name: { get: fail },
      code: { get: fail },
      cause: { get: fail },
      constructor: { get: fail },
    }),
  'a proxy that always throws': () => new Proxy(new Error('x'), { get: fail, getPrototypeOf: fail, has: fail }),
  'a revoked proxy': () => {
    const { proxy, revoke } = Proxy.revocable(new Error('x'), {})
    revoke()
    return proxy
  },
  'a proxy with prototypes without end': endlessPrototypes,
  'an error that is its own cause': () => {
    const error = new Error('x')
    error.cause = error
    return error
  },
  'a ring of three causes': () => {
    const first = new Error('1')
    first.cause = new Error('2', { cause: new Error('3', { cause: first }) })
    return first
  },
  'a chain of 100,000 causes': () => {
    let error: object = new Error('innermost')
    for (let depth = 1; depth < 100_000; depth++) error = { depth, cause: error }
    return error
  },
  'causes made on reading, without end': endlessCauses,
  'an aggregate of itself': () => {
    const error = new AggregateError([])
    error.errors.push(error, error)
    return error
  },
  'an aggregate of ten thousand': () => new AggregateError(Array.from({ length: 10_000 }, (_, index) => ({ index }))),
  'an aggregate whose members iterate without end': () => {
    const error = new AggregateError([])
    error.errors = Object.assign([], {
      *[Symbol.iterator]() {
        for (;;) yield error
      },
    })
    return error
  },
  'an aggregate whose members have an absurd length': () =>
    Object.assign(new AggregateError([]), { errors: { length: Number.POSITIVE_INFINITY } }),
  'an aggregate whose members cannot be read': () =>
    Object.assign(new AggregateError([]), { errors: new Proxy([], { get: fail }) }),
}

function fail(): never {
  throw new Error('not to be read')
}

function endlessPrototypes(): object {
  return new Proxy({}, { getPrototypeOf: endlessPrototypes })
}

function endlessCauses(): object {
  return Object.defineProperty(new Error('x'), 'cause', { get: endlessCauses })
}
