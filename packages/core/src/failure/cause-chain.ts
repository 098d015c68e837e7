/**
 * Safe reading of whatever a handler threw. Getters and proxies may throw, causes may form a ring or never end; every
 * function here answers something and comes to an end all the same.
 */

/** Errors nest a handful deep. What lies beyond this many is not looked at. */
const maxErrors = 100

/** Class hierarchies are shallower than this; a proxy may pretend to one without end. */
const maxPrototypes = 50

/**
 * What was thrown, then its cause or, for an AggregateError, its members and cause, and so on: nearer to the outside
 * first, each once, at most 100.
 */
export function causeChain(thrown: unknown): readonly unknown[] {
  const chain = new Set<unknown>([thrown])
  for (const error of chain) {
    // A set visits what is added to it on the way.
    for (const inner of causesOf(error)) {
      if (chain.size >= maxErrors) return [...chain]
      chain.add(inner)
    }
  }
  return [...chain]
}

function causesOf(error: unknown): unknown[] {
  if (!isObject(error)) return []
  const members = labelsOf(error).includes('AggregateError') ? membersOf(readProperty(error, 'errors')) : []
  const cause = readProperty(error, 'cause')
  return cause === undefined || cause === null ? members : [...members, cause]
}

// By index, since an iterator of the user's need not end.
function membersOf(errors: unknown): unknown[] {
  if (!isObject(errors)) return []
  const length = readProperty(errors, 'length')
  const count = Number.isSafeInteger(length) ? Math.min(length as number, maxErrors) : 0
  return Array.from({ length: count }, (_, index) => readProperty(errors, String(index)))
}

/** The words an error is known by: its name, its code, and the names of the classes it inherits from. */
export function labelsOf(error: unknown): readonly string[] {
  const labels: string[] = []
  const add = (label: unknown): void => {
    if (typeof label === 'string' && label !== '') labels.push(label)
  }
  if (!isObject(error)) return labels
  add(readProperty(error, 'name'))
  add(readProperty(error, 'code'))
  for (const prototype of prototypesOf(error)) {
    if (prototype === Object.prototype) break // Everything inherits from Object: it tells nothing.
    const maker = readProperty(prototype, 'constructor')
    if (typeof maker === 'function') add(readProperty(maker, 'name'))
  }
  return labels
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

/** A property of anything; undefined where it has none or cannot be read. */
export function readProperty(value: unknown, key: string): unknown {
  try {
    return isObject(value) ? (value as Record<string, unknown>)[key] : undefined
  } catch {
    return undefined // What cannot be read is not there, as far as routing a record goes.
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
