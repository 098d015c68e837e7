import type { Rule, Rules } from './rule.ts'

/** One option, as a page of defaults shows it. */
export interface OptionRow {
  /** Where it is: `retry.tiers[].delayMs`; `*` stands for any key. */
  readonly path: string
  /** The accepted values, in words. */
  readonly expects: string
  /** It must be given. */
  readonly required: boolean
  /** The default; undefined when there is none. */
  readonly default: unknown
  /** Why the default is what it is. */
  readonly because: string | undefined
}

/** Every option that `rules` know, outer before inner: the reference page is made of this, so it cannot go stale. */
export function listOptions(rules: Rules): readonly OptionRow[] {
  return Object.entries(rules).flatMap(([key, entry]) => rowsOf(key, entry))
}

function rowsOf(path: string, entry: Rule<unknown>): readonly OptionRow[] {
  const { expects, required, fallback, because } = entry
  return [{ path, expects, required, default: fallback, because }, ...rowsInside(path, entry)]
}

function rowsInside(path: string, { inner, each }: Rule<unknown>): readonly OptionRow[] {
  if (inner !== undefined) return listOptions(inner).map((row) => ({ ...row, path: `${path}.${row.path}` }))
  return each === undefined ? [] : rowsInside(`${path}${each.step}`, each.rule)
}
