import { Buffer } from 'node:buffer'
import { createUlidGenerator, decodeEvent, isWaybillError, OptionsError, type RecordHeaders } from '@waybill/core'
import { cloudEventsHeader, eventHeader, utf8Text } from '@waybill/core/internal'
import { AdminRequestError, DeadLetterChangedError } from '../problem/admin-errors.ts'
import { words } from '../resource/answer-schemas.ts'
import { awaitOperation, operationAnswer } from '../resource/await-operation.ts'
import { showsPayloads } from '../resource/letter-view.ts'
import { type Answer, type Call, requirePermission } from '../route/call.ts'
import { type Route, route } from '../route/route.ts'
import { list, mapOf, object } from '../schema/composite-schemas.ts'
import { about, nullable, optional, withDefault } from '../schema/schema.ts'
import { anyText, boolean, integer, oneOf, openWord, text } from '../schema/value-schemas.ts'
import type { AdminServices } from '../service/admin-services.ts'
import { type FoundLetter, findLetter } from './find-letter.ts'
import { headerClassOf } from './header-class.ts'
import { jsonDiff } from './json-diff.ts'
import { etagOf } from './letter-routes.ts'

const maxBodyBytes = 2 * 1024 * 1024
const verdicts = ['VALID', 'INVALID', 'UNKNOWN', 'NOT_CHECKED'] as const

interface EditBody {
  readonly value: string | null | undefined
  readonly headers:
    | {
        readonly set: Readonly<Record<string, string>> | undefined
        readonly remove: readonly string[] | undefined
      }
    | undefined
  readonly target: 'ORIGINAL' | 'BINDING' | undefined
  readonly newEventId: boolean
  readonly force: boolean
}

/** The route that replays a dead letter with another value or other headers. */
export function editRoutes(services: AdminServices): readonly Route[] {
  return [
    route({
      id: 'editDeadLetter',
      method: 'POST',
      path: '/eventbus/dead-letters/{id}/edit',
      tag: 'Dead letters',
      summary:
        'Replays a dead letter with another value or other headers, and resolves it. Needs If-Match with its ETag; off by default',
      access: { permission: 'dlt:edit', of: 'SOME' },
      body: {
        value: optional(about('The whole value as text; null makes a tombstone.', nullable(anyText(maxBodyBytes)))),
        headers: optional(
          object({ set: optional(mapOf(anyText(16_384))), remove: optional(list(text({ max: 500 }), { max: 100 })) }),
        ),
        target: optional(oneOf(['ORIGINAL', 'BINDING'])),
        newEventId: withDefault(
          about('Gives the copy a new event id: its effect happens even if the old one happened.', boolean),
          false,
        ),
        force: withDefault(about('Replays it although its schema refuses it.', boolean), false),
      },
      change: { operation: 'EDIT_REPLAY', isDestructive: true },
      maxBodyBytes,
      answer: object({
        dryRun: optional(boolean),
        operation: optional(words),
        state: optional(words),
        replayed: optional(integer()),
        schema: optional(object({ verdict: openWord(verdicts), event: nullable(words), problem: nullable(words) })),
        diff: optional(list(object({ path: words, from: nullable(words), to: nullable(words) }))),
        key: optional(openWord(['UNCHANGED'])),
      }),
      run: (call) => edit(services, call),
    }),
  ]
}

async function edit(services: AdminServices, call: Call<unknown, EditBody>): Promise<Answer> {
  const { options, operations } = services
  const { body } = call
  if (options.editing === false)
    throw new AdminRequestError('Editing is off on this server.', { status: 403, hint: 'Set editing of createAdmin.' })
  const found = await findLetter(services, call)
  const { binding, letter } = found
  requirePermission(call, 'dlt:edit', binding?.key)
  if (binding === undefined) throw new AdminRequestError('This dead letter belongs to no binding of this server.')
  // An operator who sees a masked value would write the mask.
  if (body.value !== undefined && options.payloads.mask.length > 0) requirePermission(call, 'payloads:raw', binding.key)
  const edited = editOf(services, found, body)
  const value = edited.value === undefined ? letter.record.value : edited.value
  const schema = await checkSchema(services, { ...letter.record, value, headers: edited.headers })
  if (schema.verdict === 'INVALID' && !body.force && !call.isDryRun) throw schema.error
  requireUnchanged(found, call.request.headers['if-match'])
  if (call.isDryRun) {
    const isShown = showsPayloads(call, binding.key) && options.payloads.mask.length === 0
    const diff = jsonDiff(textOf(letter.record.value), textOf(value))
    const { verdict, event, problem } = schema
    return {
      body: {
        dryRun: true,
        schema: { verdict, event, problem: isShown ? problem : null },
        diff: isShown ? diff : diff.map(({ path }) => ({ path, from: null, to: null })),
        key: 'UNCHANGED',
      },
    }
  }
  const { topic, partition, offset } = letter
  const created = await operations.create(
    {
      type: 'EDIT_REPLAY',
      binding: binding.label,
      position: { topic, partition, offset },
      value: edited.value,
      setHeaders: edited.set,
      removeHeaders: body.headers?.remove,
      target: body.target,
    },
    call.operator,
  )
  const operation = await awaitOperation(services, created, call)
  // Another operation was faster.
  if ((operation.progress.refused['NOT_OPEN'] ?? 0n) > 0n)
    throw new DeadLetterChangedError(found.id, 'taken by another operation')
  return operationAnswer(operation, ({ progress }) => ({ replayed: Number(progress.sent) }))
}

/** @throws AdminRequestError without the version; DeadLetterChangedError for another one */
function requireUnchanged(found: FoundLetter, version: string | undefined): void {
  const now = etagOf(found)
  if (version === undefined)
    throw new AdminRequestError('An edit needs If-Match with the ETag of the dead letter.', { hint: 'Read it first.' })
  if (version !== now || found.indexed.state !== 'OPEN') throw new DeadLetterChangedError(found.id, now)
}

interface ReadEdit {
  readonly value: Buffer | null | undefined
  readonly set: Readonly<Record<string, string>>
  readonly headers: RecordHeaders
}

/** @throws OptionsError for headers that must not be changed */
function editOf({ options }: AdminServices, { letter }: FoundLetter, body: EditBody): ReadEdit {
  const { set = {}, remove = [] } = body.headers ?? {}
  const isAllowed = (name: string): boolean => {
    const of = headerClassOf(name)
    return (
      of === 'CUSTOM' || (of === 'SENSITIVE' && options.editing !== false && options.editing.headers === 'SENSITIVE')
    )
  }
  const refused = [...Object.keys(set), ...remove].filter((name) => !isAllowed(name))
  if (refused.length > 0)
    throw new OptionsError(
      'The body',
      refused
        .slice(0, 20)
        .map((name) => ({ path: `headers.${name}`, problem: `is ${headerClassOf(name)} and must stay` })),
    )
  const { headers } = letter.record
  const idHeader =
    headers.has(eventHeader.id) || !headers.has(cloudEventsHeader.id) ? eventHeader.id : cloudEventsHeader.id
  const all = body.newEventId ? { ...set, [idHeader]: createUlidGenerator(options.runtime)() } : set
  const dropped = new Set([...remove, ...Object.keys(all)])
  let after = headers.without((name) => dropped.has(name))
  for (const [name, one] of Object.entries(all)) after = after.with(name, one)
  const value = body.value === undefined || body.value === null ? body.value : Buffer.from(body.value)
  return { value, set: all, headers: after }
}

interface SchemaCheck {
  readonly verdict: (typeof verdicts)[number]
  readonly event: string | null
  readonly problem: string | null
  readonly error: unknown
}

const refusals: ReadonlySet<string> = new Set(['WAYBILL_SCHEMA_VIOLATION', 'WAYBILL_PARSE_FAILED'])

async function checkSchema(
  { options }: AdminServices,
  record: Parameters<typeof decodeEvent>[1],
): Promise<SchemaCheck> {
  const event = record.headers.text(eventHeader.eventType) ?? record.headers.text(cloudEventsHeader.type) ?? null
  let found: SchemaCheck = { verdict: 'NOT_CHECKED', event, problem: null, error: undefined }
  for (const catalog of Object.values(options.catalogs)) {
    try {
      await decodeEvent(catalog, record)
      return { verdict: 'VALID', event, problem: null, error: undefined }
    } catch (error) {
      if (!isWaybillError(error)) throw error
      // Another catalog may know the event.
      if (found.verdict !== 'INVALID')
        found = { verdict: refusals.has(error.code) ? 'INVALID' : 'UNKNOWN', event, problem: error.message, error }
    }
  }
  return found
}

function textOf(value: Buffer | null): string {
  return value === null ? 'null' : (utf8Text(value) ?? value.toString('base64'))
}
