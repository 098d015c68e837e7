/**
 * The state of the server as it changes.
 *
 *     CONNECTING ─▶ LIVE ─▶ RECONNECTING ─▶ LIVE            by the stream
 *          └──────────────▶ POLLING ──────▶ LIVE            where a proxy holds the stream back, or there are too many
 *     any of them ─▶ PAUSED ─▶ CONNECTING                   by the user, or after five minutes in the background
 */

import { batch, computed, type ReadonlySignal, signal } from '@preact/signals'
import type { Schemas } from '../api/api-types.ts'
import { call, isAbort, stream } from '../api/client.ts'
import { problemOf } from '../api/problem.ts'
import { after, now, seconds } from './clock.ts'
import { stepAfter } from './live-policy.ts'

/** How the values on the page come. */
export type LiveStatus =
  | { readonly kind: 'CONNECTING' | 'LIVE' | 'POLLING' }
  | { readonly kind: 'RECONNECTING'; readonly retryAt: number }
  | { readonly kind: 'PAUSED'; readonly by: 'USER' | 'HIDDEN' }

/** Parts of the state that the stream sends. */
export interface LiveItems {
  readonly binding: Schemas['Binding']
  readonly operation: Schemas['Operation']
  readonly audit: Schemas['AuditEntry']
  readonly health: Pick<Schemas['Health'], 'status' | 'findings' | 'remarks'>
  readonly outbox: Schemas['Outbox']
  readonly group: Schemas['FailureGroup']
  /** By the run of the process. */
  readonly instance: Pick<Schemas['Instance'], 'instance' | 'version' | 'alive'> & {
    readonly key: string
    readonly bindings: readonly { readonly cluster: string; readonly binding: string }[]
  }
}

/** A kind of item. */
export type LiveKind = keyof LiveItems

const kinds = [
  'binding',
  'operation',
  'audit',
  'health',
  'outbox',
  'group',
  'instance',
] as const satisfies readonly LiveKind[]

/** Extra topics that a page may ask for. */
export type LiveTopic = 'audit' | 'groups'

const usualTopics = ['overview', 'bindings', 'operations'] as const
const pollMs = 10_000
/** The server sends a heartbeat every 15 seconds. */
const silenceMs = 40_000
/** A stream that is open and sends nothing is held back by a proxy. */
const firstEventMs = 10_000
const hiddenMs = 300_000
/** Values that are older are shown as old. */
const staleMs = 15_000

const status = signal<LiveStatus>({ kind: 'CONNECTING' })
const asOf = signal<number | undefined>(undefined)
const topics = signal<readonly LiveTopic[]>([])
const items = {
  binding: signal<ReadonlyMap<string, Schemas['Binding']> | undefined>(undefined),
  operation: signal<ReadonlyMap<string, Schemas['Operation']> | undefined>(undefined),
  audit: signal<ReadonlyMap<string, Schemas['AuditEntry']> | undefined>(undefined),
  health: signal<ReadonlyMap<string, LiveItems['health']> | undefined>(undefined),
  outbox: signal<ReadonlyMap<string, LiveItems['outbox']> | undefined>(undefined),
  group: signal<ReadonlyMap<string, LiveItems['group']> | undefined>(undefined),
  instance: signal<ReadonlyMap<string, LiveItems['instance']> | undefined>(undefined),
}

/** The live state, to be read. A map is undefined until it is known. */
export const live: {
  readonly status: ReadonlySignal<LiveStatus>
  readonly asOf: ReadonlySignal<number | undefined>
  readonly isPaused: ReadonlySignal<boolean>
  /** Whether the values are too old to be taken for the present. */
  readonly isStale: ReadonlySignal<boolean>
  readonly items: { readonly [K in LiveKind]: ReadonlySignal<ReadonlyMap<string, LiveItems[K]> | undefined> }
} = {
  status,
  asOf,
  items,
  isPaused: computed(() => status.value.kind === 'PAUSED'),
  isStale: computed(() => {
    const { kind } = status.value
    if (kind === 'LIVE' || asOf.value === undefined) return false
    return seconds.value - asOf.value > staleMs
  }),
}

let running: AbortController | undefined
let lastEventId: string | undefined
let failures = 0

/** Connects, and follows the visibility of the page. */
export function startLive(): void {
  document.addEventListener('visibilitychange', followVisibility)
  connect()
}

/** Stops or continues the changes on the page. */
export function togglePause(): void {
  if (status.value.kind === 'PAUSED') connect()
  else pause('USER')
}

/** Connects now, without waiting. */
export function reconnect(): void {
  failures = 0
  connect()
}

/** Asks for a topic while a page is shown. Returns the function that ends it. */
export function wantTopic(topic: LiveTopic): () => void {
  if (!topics.value.includes(topic)) {
    topics.value = [...topics.value, topic]
    lastEventId = undefined
    if (status.value.kind !== 'PAUSED') connect()
  }
  return () => {
    topics.value = topics.value.filter((one) => one !== topic)
  }
}

let stopHidden: (() => void) | undefined

function followVisibility(): void {
  stopHidden?.()
  stopHidden = undefined
  const { value } = status
  if (document.hidden) stopHidden = after(hiddenMs, () => pause('HIDDEN'))
  else if (value.kind === 'PAUSED' && value.by === 'HIDDEN') connect()
}

function pause(by: 'USER' | 'HIDDEN'): void {
  if (status.value.kind === 'PAUSED') return
  running?.abort()
  status.value = { kind: 'PAUSED', by }
}

function connect(): void {
  running?.abort()
  const own = new AbortController()
  running = own
  if (status.value.kind !== 'POLLING') status.value = { kind: 'CONNECTING' }
  void follow(own)
}

async function follow(own: AbortController): Promise<void> {
  const { code, hadEvents } = await readStream(own)
  if (own.signal.aborted) return
  failures = hadEvents ? 0 : failures + 1
  const step = stepAfter({ status: code, hadEvents, failures }, Math.random())
  if (step.kind === 'RETRY') {
    status.value = { kind: 'RECONNECTING', retryAt: now() + step.inMs }
    const stop = after(step.inMs, connect)
    own.signal.addEventListener('abort', stop, { once: true })
    return
  }
  status.value = { kind: 'POLLING' }
  const stop = after(step.retryInMs, connect)
  own.signal.addEventListener('abort', stop, { once: true })
  await poll(own.signal)
}

/** Reads one stream to its end. A silent one is ended: the connection may be gone without a sign. */
async function readStream(own: AbortController): Promise<{ readonly code: number; readonly hadEvents: boolean }> {
  const attempt = new AbortController()
  const end = (): void => attempt.abort()
  own.signal.addEventListener('abort', end, { once: true })
  let hadEvents = false
  let stopWaiting = after(firstEventMs, end)
  try {
    const path = `eventbus/stream?topics=${[...usualTopics, ...topics.value].join(',')}`
    for await (const { event, data, id } of stream({ path }, { signal: attempt.signal, lastEventId })) {
      stopWaiting()
      stopWaiting = after(silenceMs, end)
      hadEvents = true
      if (id !== undefined) lastEventId = id
      take(event, data)
    }
    return { code: 200, hadEvents }
  } catch (error) {
    if (isAbort(error)) return { code: 200, hadEvents }
    return { code: problemOf(error).status, hadEvents }
  } finally {
    stopWaiting()
    own.signal.removeEventListener('abort', end)
  }
}

interface Change {
  readonly kind: LiveKind
  readonly item: { readonly key: string; readonly gone?: boolean }
}

const waiting: Change[] = []
let stopFlush: (() => void) | undefined

function take(event: string, data: string): void {
  if (status.value.kind !== 'LIVE') status.value = { kind: 'LIVE' }
  if (event === 'snapshot') {
    const parts = JSON.parse(data) as Readonly<Record<string, readonly { readonly key: string }[]>>
    waiting.length = 0
    batch(() => {
      for (const kind of kinds) if (parts[kind] !== undefined) replace(kind, parts[kind])
      asOf.value = now()
    })
    return
  }
  if ((kinds as readonly string[]).includes(event))
    waiting.push({ kind: event as LiveKind, item: JSON.parse(data) as Change['item'] })
  // Many events come at once: one change of the page for all.
  stopFlush ??= after(16, flush)
}

function flush(): void {
  stopFlush = undefined
  const changes = waiting.splice(0)
  batch(() => {
    for (const kind of kinds) {
      const ofKind = changes.filter((change) => change.kind === kind)
      if (ofKind.length === 0) continue
      const next = new Map<string, object>(items[kind].value)
      for (const { item } of ofKind) {
        if (item.gone === true) next.delete(item.key)
        else next.set(item.key, item)
      }
      items[kind].value = next as never
    }
    asOf.value = now()
  })
}

function replace(kind: LiveKind, list: readonly { readonly key: string }[]): void {
  items[kind].value = new Map(list.map((item) => [item.key, item])) as never
}

async function poll(signalOfPoll: AbortSignal): Promise<void> {
  while (!signalOfPoll.aborted) {
    await pollOnce(signalOfPoll)
    await new Promise<void>((resolve) => {
      const stop = after(pollMs, resolve)
      signalOfPoll.addEventListener(
        'abort',
        () => {
          stop()
          resolve()
        },
        { once: true },
      )
    })
  }
}

/** Reads the state without the stream. A part that fails keeps its values, and their age shows. */
async function pollOnce(signalOfPoll: AbortSignal): Promise<void> {
  const options = { signal: signalOfPoll }
  const results = await Promise.allSettled([
    call('listBindings', { query: { limit: 500 } }, options).then(({ items: list }) => replace('binding', list)),
    call('listOperations', { query: { limit: 100 } }, options).then(({ items: list }) =>
      replace(
        'operation',
        list.map((one) => ({ key: one.id, ...one })),
      ),
    ),
    call('listOutboxes', {}, options).then(({ items: list }) =>
      replace(
        'outbox',
        list.map((one) => ({ key: one.outbox, ...one })),
      ),
    ),
    call('getHealth', {}, options).then((health) => replace('health', [{ key: 'connector', ...health }])),
  ])
  if (results.some(({ status: end }) => end === 'fulfilled')) asOf.value = now()
}
