import { anyOf, list, mapOf, object } from '../schema/composite-schemas.ts'
import { about, named, nullable, optional, type Schema, withDefault } from '../schema/schema.ts'
import { anyText, boolean, instant, int64, integer, openWord, text } from '../schema/value-schemas.ts'

/** A text of an answer. */
export const words: Schema<string> = anyText(Number.MAX_SAFE_INTEGER)

/** Parameters of every list. */
export const pageFields: {
  readonly limit: Schema<number>
  readonly cursor: Schema<string | undefined>
} = {
  limit: withDefault(integer({ min: 1, max: 500 }), 50),
  cursor: optional(about('`next` of the page before.', text({ max: 2_000 }))),
}

/** A page of a list. */
export function pageOf(item: Schema, extra: Readonly<Record<string, Schema>> = {}): Schema {
  return object({
    items: list(item),
    next: nullable(words),
    total: optional(object({ count: int64, exact: boolean })),
    ...extra,
  })
}

/** Bytes of a record or a row. */
export const byteViewSchema: Schema = named(
  'Bytes',
  anyOf<unknown>('bytes', [
    object({ encoding: openWord(['utf8', 'base64']), text: words, bytes: integer(), truncated: optional(boolean) }),
    object({ hidden: boolean, bytes: integer() }),
  ]),
)

/** An error as data. */
export const errorTextSchema: Schema = named('ErrorText', object({ code: nullable(words), message: words }))

const positionSchema: Schema = named(
  'PositionReport',
  object({ topic: words, partition: integer(), from: nullable(int64), to: int64, skipped: int64, repeated: int64 }),
)

/** The answer to a command. */
export const commandAnswerSchema: Schema = named(
  'CommandAnswer',
  object({
    dryRun: optional(boolean),
    scope: openWord(['INSTANCE', 'FLEET']),
    outcome: openWord(['APPLIED', 'PARTIAL', 'PLANNED']),
    instances: list(
      object({
        instance: words,
        outcome: openWord(['APPLIED', 'FAILED', 'NO_ANSWER', 'PLANNED']),
        state: nullable(openWord(['CREATED', 'RUNNING', 'PAUSED', 'STOPPED', 'DESTROYED'])),
        lastSeenAt: optional(instant),
        error: optional(errorTextSchema),
      }),
    ),
    positions: optional(list(positionSchema)),
    warnings: optional(list(words)),
  }),
)

/** Counts by a word. */
export const countsSchema: Schema = mapOf(int64)
