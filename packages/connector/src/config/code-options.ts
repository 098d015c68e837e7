/** What a configuration may name: everything that is code, and that data cannot carry. */

import { instance, optional, type Rule } from '@waybill/core/option'
import type { ConfigCode } from '../api/config-code.ts'

/** The kinds of code that stand for one option. */
export type CodeKind = Exclude<keyof ConfigCode, 'errors' | 'clusters'>

/** One option whose value is code. */
export interface CodeOption {
  /** Where it is in a binding. */
  readonly path: readonly [string] | readonly [string, string]
  readonly kind: CodeKind
  /** Names to try where the binding has none: the first that there is. `beside` is what stands beside the option. */
  readonly unnamed: (binding: string, beside: Readonly<Record<string, unknown>>) => readonly string[]
  /** In place of one that is missing and reported, so that the rules do not report it once more. */
  readonly placeholder: unknown
}

/** Every option whose value is code. */
export const codeOptions: readonly CodeOption[] = [
  { path: ['handler'], kind: 'handlers', unnamed: (binding) => [binding], placeholder: () => {} },
  { path: ['filter'], kind: 'filters', unnamed: () => [], placeholder: () => true },
  { path: ['retry', 'classifier'], kind: 'classifiers', unnamed: () => [], placeholder: () => undefined },
  {
    path: ['dlt', 'alertHandler'],
    kind: 'alertHandlers',
    unnamed: (binding, dlt) => (dlt['strategy'] === 'ALERT_AND_STORE' ? [binding, 'default'] : []),
    placeholder: { onDeadLetter() {} },
  },
  {
    path: ['dlt', 'recordHandler'],
    kind: 'deadLetterHandlers',
    unnamed: (binding, dlt) => (dlt['strategy'] === 'CUSTOM' ? [binding, 'default'] : []),
    placeholder: { handle() {} },
  },
  {
    path: ['deduplicate', 'store'],
    kind: 'idempotencyStores',
    unnamed: () => [],
    placeholder: { seen() {}, mark() {} },
  },
  { path: ['deduplicate', 'inbox'], kind: 'inboxes', unnamed: () => [], placeholder: { run() {} } },
  { path: ['deduplicate', 'key'], kind: 'deduplicationKeys', unnamed: () => [], placeholder: () => '' },
]

/** Any object that names can be keys of: a list or a Map would have none of them. */
function isByName(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !(Symbol.iterator in value)
}

const byName = instance('an object with code for each name', isByName)

/** What the code itself has to be. A kind that is misspelt would be missed by every name in the configuration. */
export const codeRules: { readonly [K in keyof ConfigCode]-?: Rule<unknown> } = {
  handlers: instance('a HandlerRegistry, or an object with a handler for each name', isByName),
  alertHandlers: optional(byName),
  deadLetterHandlers: optional(byName),
  filters: optional(byName),
  classifiers: optional(byName),
  idempotencyStores: optional(byName),
  inboxes: optional(byName),
  deduplicationKeys: optional(byName),
  errors: optional(byName),
  clusters: optional(instance('an object with the clusters of the connector', isByName)),
}
