/** Converts the keys of a configuration to option names: `group-id` to `groupId`. */

import { isPlainObject, type Report, type Rule, type Rules } from '@waybill/core/option'

/**
 * Renames keys by the rules, so that keys that are names themselves (of errors, of bindings) stay unchanged. Null, an
 * empty value in YAML, counts as absent. Unknown keys are left to the rules.
 */
export function withOptionKeys(rule: Rule<unknown>, value: unknown, path: string, report: Report): unknown {
  const { inner, each } = rule
  if (inner !== undefined && isPlainObject(value)) return renamed(inner, value, path, report)
  if (each?.step === '[]' && Array.isArray(value))
    return value.map((item: unknown, at) => withOptionKeys(each.rule, item, `${path}[${at}]`, report))
  return value
}

function renamed(rules: Rules, value: Readonly<Record<string, unknown>>, path: string, report: Report): unknown {
  const keyByKebab = new Map(Object.keys(rules).map((key) => [kebabOf(key), key]))
  const present = Object.entries(value).filter(([, below]) => below !== null && below !== undefined)
  const entries = present.map(([written, below]) => {
    const key = keyByKebab.get(written) ?? written
    const at = path === '' ? key : `${path}.${key}`
    if (written !== key && Object.hasOwn(value, key)) report(at, `is given twice, as ${key} and as ${written}`)
    const own = Object.hasOwn(rules, key) ? rules[key] : undefined
    return [key, own === undefined ? below : withOptionKeys(own, below, at, report)] as const
  })
  return Object.fromEntries(entries)
}

function kebabOf(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}
