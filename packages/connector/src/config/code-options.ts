/** The options whose values are code, which a configuration refers to by name. */

import { instance, optional, type Rule } from '@waybill/core/option'
import type { ConfigCode } from '../api/config-code.ts'
import { decodeWords } from '../options/decode-rules.ts'

/** A kind of code that is the value of one option. */
export type CodeKind = Exclude<keyof ConfigCode, 'errors' | 'clusters'>

/** An option whose value is code. */
export interface CodeOption {
  /** The path in a binding. */
  readonly path: readonly [string] | readonly [string, string]
  readonly kind: CodeKind
  /** Returns names to try, in order, if the binding has none. `beside` are the options next to it. */
  readonly unnamed: (binding: string, beside: Readonly<Record<string, unknown>>) => readonly string[]
  /** Replaces missing code that is already reported, so that the rules do not report it again. */
  readonly placeholder: unknown
  /** Values that are no names. */
  readonly words?: readonly string[]
}

/** All options whose values are code. */
export const codeOptions: readonly CodeOption[] = [
  { path: ['handler'], kind: 'handlers', unnamed: (binding) => [binding], placeholder: () => {} },
  { path: ['decode'], kind: 'decoders', unnamed: () => [], placeholder: 'text', words: decodeWords },
  { path: ['filter'], kind: 'filters', unnamed: () => [], placeholder: () => true },
  { path: ['redactErrors'], kind: 'redactors', unnamed: () => [], placeholder: () => '' },
  { path: ['startOffsets'], kind: 'startOffsets', unnamed: () => [], placeholder: async () => [] },
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
  {
    path: ['deduplicate', 'key'],
    kind: 'deduplicationKeys',
    unnamed: () => [],
    placeholder: () => '',
    words: ['EVENT_ID'],
  },
]

/** Returns whether a value is an object with names as keys, not a list or a Map. */
function isByName(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !(Symbol.iterator in value)
}

const byName = instance('an object with code for each name', isByName)

/** The rules of {@link ConfigCode}. They catch a misspelled kind, which would make every name of it unknown. */
export const codeRules: { readonly [K in keyof ConfigCode]-?: Rule<unknown> } = {
  handlers: instance('a HandlerRegistry, or an object with a handler for each name', isByName),
  decoders: optional(byName),
  alertHandlers: optional(byName),
  deadLetterHandlers: optional(byName),
  filters: optional(byName),
  redactors: optional(byName),
  startOffsets: optional(byName),
  classifiers: optional(byName),
  idempotencyStores: optional(byName),
  inboxes: optional(byName),
  deduplicationKeys: optional(byName),
  errors: optional(byName),
  clusters: optional(instance('an object with the clusters of the connector', isByName)),
}
