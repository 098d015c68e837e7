import type { SchemaViolation } from '../event-errors.ts'
import { parseInstant } from '../instant.ts'
import { parseAggregateVersion, parseEventVersion } from '../version.ts'
import { recordViolations } from './record-text.ts'

/** The values a field accepts: `parse` returns undefined for anything else. */
export interface FieldKind<T> {
  readonly expects: string
  readonly parse: (value: unknown) => T | undefined
}

/** Any text, also an empty one. */
export const anyText: FieldKind<string> = {
  expects: 'a text',
  parse: (value) => (typeof value === 'string' ? value : undefined),
}

/** A text that says something. */
export const someText: FieldKind<string> = {
  expects: 'a text that is not empty',
  parse: (value) => (typeof value === 'string' && value !== '' ? value : undefined),
}

/** Epoch milliseconds, written as RFC 3339. */
export const instant: FieldKind<number> = {
  expects: 'a time with its offset, as in RFC 3339',
  parse: (value) => (typeof value === 'string' ? parseInstant(value) : undefined),
}

/** Version of a payload's schema, as a number or as its digits. */
export const eventVersion: FieldKind<number> = { expects: 'a whole number from 1', parse: parseEventVersion }

/** Version of an aggregate, as a number or as its digits. */
export const aggregateVersion: FieldKind<number> = { expects: 'a whole number from 0', parse: parseAggregateVersion }

/**
 * Reads the fields of an event from wherever a format keeps them, and gathers what is wrong with them, so that a producer
 * learns of all its mistakes at once.
 */
export class FieldReader {
  readonly #prefix: string
  readonly #get: (name: string) => unknown
  readonly #violations: SchemaViolation[] = []

  /** `get` answers undefined for what is absent; `prefix` stands before each name in paths. */
  constructor(prefix: string, get: (name: string) => unknown) {
    this.#prefix = prefix
    this.#get = get
  }

  /** A field that may be absent, and is null then. */
  optional<T>(name: string, kind: FieldKind<T>): T | null {
    const given = this.#get(name)
    if (given === undefined) return null
    const value = kind.parse(given)
    if (value === undefined) this.report(name, `is not ${kind.expects}`)
    return value ?? null
  }

  /** A field that must be there. What it gives for one that is wrong is never seen: `finish` throws first. */
  required<T>(name: string, kind: FieldKind<T>): T {
    if (this.#get(name) === undefined) this.report(name, 'is missing')
    return this.optional(name, kind) as T
  }

  /** Adds what was found wrong elsewhere. */
  report(name: string, message: string): void {
    this.#violations.push({ path: `${this.#prefix}${name}`, message })
  }

  /** Throws when anything was wrong. */
  finish(): void {
    if (this.#violations.length > 0) throw recordViolations(this.#violations)
  }
}
