const matchers = new Map<string, RegExp | undefined>()

/** Returns the matcher of a pattern; undefined for one that JavaScript cannot read. */
export function matcherOf(pattern: string): RegExp | undefined {
  if (!matchers.has(pattern)) {
    if (matchers.size > 10_000) matchers.clear()
    matchers.set(pattern, compile(pattern))
  }
  return matchers.get(pattern)
}

function compile(pattern: string): RegExp | undefined {
  try {
    const matcher = new RegExp(pattern, 'u')
    matcher.test('') // Compiles it: one that is too large fails here, not later.
    return matcher
  } catch {
    return undefined // The schema's own validator decides; here the answer is that it is not known.
  }
}
