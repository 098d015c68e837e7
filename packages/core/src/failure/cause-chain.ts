/**
 * Safe reading of whatever a handler threw. Getters and proxies may throw, causes may form a ring or never end; every
 * function here answers something and comes to an end all the same.
 */

/** Errors nest a handful deep. What lies beyond this many is not looked at. */
const maxErrors = 100

/** Class hierarchies are shallower than this; a proxy may pretend to one without end. */
const maxPrototypes = 50

const none: readonly unknown[] = Object.freeze([])

/** One error and what it is matched by, found out once for all who ask. */
export interface KnownError {
  readonly error: unknown
  /** The words it is known by: its name, its code, and the names of the classes it inherits from. */
  readonly labels: readonly string[]
  /** The objects it inherits from, nearest first. */
  readonly prototypes: readonly object[]
}

/**
 * Returns the thrown value, then its cause or, for an AggregateError, its members and cause, and so on: nearer to the outside
 * first, each once, at most 100.
 */
export function causeChain(thrown: unknown): readonly unknown[] {
  return knownChain(thrown).map(({ error }) => error)
}

/** {@link causeChain} with what each error is known by. */
export function knownChain(thrown: unknown): readonly KnownError[] {
  const chain = [knownError(thrown)]
  const causes = causesOf(chain[0] as KnownError)
  // Most errors have no cause, and where every record fails this is asked for each.
  if (causes.length === 0) return chain
  const met = new Set([thrown])
  for (let index = 0; index < chain.length; index++)
    for (const inner of index === 0 ? causes : causesOf(chain[index] as KnownError)) {
      if (met.has(inner)) continue
      if (met.size >= maxErrors) return chain
      met.add(inner)
      chain.push(knownError(inner))
    }
  return chain
}

/** Returns the labels and prototypes of one error. */
export function knownError(error: unknown): KnownError {
  const prototypes = prototypesOf(error)
  return { error, labels: labelsOf(error, prototypes), prototypes }
}

function causesOf({ error, labels }: KnownError): readonly unknown[] {
  const cause = readProperty(error, 'cause')
  const hasCause = cause !== undefined && cause !== null
  if (!labels.includes('AggregateError')) return hasCause ? [cause] : none
  const members = membersOf(readProperty(error, 'errors'))
  return hasCause ? [...members, cause] : members
}

// By index, since an iterator of the user's need not end.
function membersOf(errors: unknown): unknown[] {
  if (!isObject(errors)) return []
  const length = readProperty(errors, 'length')
  const count = Number.isSafeInteger(length) ? Math.min(length as number, maxErrors) : 0
  return Array.from({ length: count }, (_, index) => readProperty(errors, String(index)))
}

/** The words an error is known by: its name, its code, and the names of the classes it inherits from. */
export function labelsOf(error: unknown, prototypes: readonly object[] = prototypesOf(error)): readonly string[] {
  if (!isObject(error)) return []
  const labels: string[] = []
  addLabel(labels, readProperty(error, 'name'))
  addLabel(labels, readProperty(error, 'code'))
  for (const prototype of prototypes) {
    if (prototype === Object.prototype) break // Everything inherits from Object: it tells nothing.
    const maker = readProperty(prototype, 'constructor')
    if (typeof maker === 'function') addLabel(labels, readProperty(maker, 'name'))
  }
  return labels
}

function addLabel(labels: string[], label: unknown): void {
  if (typeof label === 'string' && label !== '') labels.push(label)
}

/** The objects an error inherits from, nearest first. `instanceof` would follow a proxy's prototypes without end. */
export function prototypesOf(error: unknown): readonly object[] {
  const prototypes: object[] = []
  let prototype = isObject(error) ? prototypeOf(error) : null
  while (prototype !== null && prototypes.length < maxPrototypes) {
    prototypes.push(prototype)
    prototype = prototypeOf(prototype)
  }
  return prototypes
}

/** Does what `instanceof` does, but never throws and always ends: also for a proxy. */
export function isInstance<T>(error: unknown, type: abstract new (...given: never[]) => T): error is T {
  return prototypesOf(error).includes(type.prototype as object)
}

/** A property of anything; undefined where it has none or cannot be read. */
export function readProperty(value: unknown, key: string): unknown {
  try {
    return isObject(value) ? (value as Record<string, unknown>)[key] : undefined
  } catch {
    return undefined // For routing, an unreadable property is absent.
  }
}

function prototypeOf(value: object): object | null {
  try {
    return Object.getPrototypeOf(value) as object | null
  } catch {
    return null // A revoked or hostile proxy inherits from nothing we could match.
  }
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function'
}
