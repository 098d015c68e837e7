/** Sends random requests to an admin over a connector, an outbox and a projection, and reports what must never happen. */

import { Buffer } from 'node:buffer'
import { createConnector } from '@waybill/connector'
import { createMetricsStore, NonRetryableError, noopLogger, type Runtime, systemRuntime } from '@waybill/core'
import { createMemoryAuditLog } from '@waybill/core/internal'
import { createKafkaClient, defineTopology } from '@waybill/kafka'
import { createMemoryProjectionStore } from '@waybill/projection'
import { createSimCluster, createVirtualRuntime } from '@waybill/sim'
import { eventually } from '@waybill/testkit'
import type { AdminAccess } from '../../src/access/access.ts'
import type { AdminResponse } from '../../src/http/admin-response.ts'
import { type Admin, createAdmin } from '../../src/mount/create-admin.ts'
import { type FuzzRequest, FuzzRequests, seeded } from './fuzz-requests.ts'
import { sqliteOutbox } from './sqlite-outbox.ts'

/** The result of a run. */
export interface FuzzTally {
  readonly requests: number
  /** By status. */
  readonly statuses: Readonly<Record<number, number>>
  /** 5xx answers, headers with line breaks, and changes by clients without a permission: each with its request. */
  readonly failures: readonly string[]
}

/** Requests to one world: later ones would find few bindings that are left. */
const perWorld = 250
/** Identities take turns, because each has a rate. */
const identities = 40

/** Clients that may change nothing, and how often they send a request. */
const strangers: Readonly<Record<string, AdminAccess>> = { reader: 'READ_ONLY', mallory: 'FORBIDDEN' }

/** Sends requests. @param seed - the same requests for the same seed */
export async function fuzzAdmin(
  requests: number,
  seed: number,
  onWorld: (tally: FuzzTally) => void,
): Promise<FuzzTally> {
  const tally = { requests: 0, statuses: {} as Record<number, number>, failures: [] as string[] }
  while (tally.requests < requests) {
    const count = Math.min(perWorld, requests - tally.requests)
    await inWorld(async ({ admin, names, digest }) => {
      const random = seeded(seed + tally.requests)
      const fuzz = new FuzzRequests(admin.openApi(), names, validBodies, random)
      const before = await digest()
      // The first half may change nothing.
      for (let at = 0; at < count; at++) {
        const isStranger = at < count / 2
        const by = isStranger ? ['', 'mallory', 'reader'][at % 3] : `admin-${at % identities}`
        const request = fuzz.next()
        const answer = await sent(admin, request, by ?? '')
        tally.statuses[answer.status] = (tally.statuses[answer.status] ?? 0) + 1
        const wrong = problemIn(answer, request, isStranger)
        if (wrong !== undefined) tally.failures.push(`${wrong}: ${by} ${describe(request)}`)
        if (at === Math.ceil(count / 2) - 1 && (await digest()) !== before)
          tally.failures.push(
            `the state changed before request ${tally.requests + at}, by clients without a permission`,
          )
      }
    })
    tally.requests += count
    onWorld(tally)
  }
  return tally
}

const reason = 'INC-311'

const validBodies = {
  '/eventbus/operations': [
    { type: 'REPLAY', binding: 'shipping', filter: {}, rate: 100, canary: { count: 1 }, reason },
    { type: 'REPLAY', binding: 'shipping', ids: ['orders.DLT:0:0'], target: 'ORIGINAL', maxReplays: 2, reason },
    { type: 'REPLAY', binding: 'shipping', filter: { since: 'PT1H', q: 'refused', exception: 'Error' }, reason },
    { type: 'REPLAY_TO_TIER', binding: 'shipping', tier: 1, filter: { key: 'a*' }, abortWhen: false, reason },
    { type: 'RELEASE', binding: 'shipping', filter: {}, reason },
    { type: 'PURGE', binding: 'shipping', olderThan: 'P7D', includeOtherGroups: true, reason },
    { type: 'OUTBOX_REPLAY', outbox: 'orders', eventType: 'order.placed', reason },
    { type: 'OUTBOX_PURGE', outbox: 'orders', olderThan: 'P7D', confirm: '0', reason },
    { type: 'PROJECTION_REBUILD', projection: 'balances', reason },
    { type: 'INDEX_REBUILD', binding: 'shipping', reason },
  ],
  '/eventbus/bindings': [{ name: 'extra', topic: 'orders', groupId: 'extra', handler: 'echo' }],
  '/eventbus/operations/{id}': [{ rate: 7 }],
  '/eventbus/dead-letters/{id}/edit': [
    { value: 'fixed', headers: { set: { source: 'ana' }, remove: ['x'] }, target: 'BINDING', newEventId: true, reason },
  ],
  '/eventbus/dead-letters/groups/{group}': [{ state: 'RESOLVED', note: 'fixed', reason }],
  '/eventbus/bindings/{name}/positions/seek': [
    { to: 'EARLIEST', reason },
    { to: { offset: '1' }, partitions: [0], reason },
  ],
  '/eventbus/bindings/{name}/positions/skip': [{ partition: 0, offsets: ['0'], reason }],
} as const

function problemIn(
  { status, headers }: AdminResponse,
  { method }: FuzzRequest,
  isStranger: boolean,
): string | undefined {
  if (status >= 500) return `answered ${status}`
  if (Object.values(headers).some((value) => /[\r\n]/.test(value))) return 'a header has a line break'
  const isChange = !['GET', 'HEAD'].includes(method)
  return isStranger && isChange && status < 300 ? `a stranger was answered ${status}` : undefined
}

function describe({ method, url, headers, body }: FuzzRequest): string {
  const text = body === undefined ? '' : Buffer.from(body).toString('utf8').slice(0, 400)
  return `${method} ${url.slice(0, 300)} ${JSON.stringify(headers).slice(0, 300)} ${text}`
}

async function sent(admin: Admin, { method, url, headers, body }: FuzzRequest, by: string): Promise<AdminResponse> {
  const leave = new AbortController()
  const identity: Record<string, string> = by === '' ? {} : { authorization: `Bearer ${by}` }
  const answer = await admin.handle(
    { method, url, headers: { ...headers, ...identity }, remoteAddress: '10.0.0.9' },
    body === undefined ? undefined : chunksOf(body),
    leave.signal,
  )
  if (typeof answer.body !== 'string' && !(answer.body instanceof Uint8Array)) {
    const chunks = answer.body[Symbol.asyncIterator]()
    await chunks.next()
    leave.abort()
    await chunks.return?.()
  }
  return answer
}

function textOf({ body }: AdminResponse): string {
  return typeof body === 'string' ? body : ''
}

async function* chunksOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

interface FuzzWorld {
  readonly admin: Admin
  readonly names: Readonly<Record<string, readonly string[]>>
  /** Everything that a change would change. */
  readonly digest: () => Promise<string>
}

async function inWorld(program: (world: FuzzWorld) => Promise<void>): Promise<void> {
  const virtual = createVirtualRuntime(7, { logger: noopLogger })
  const metrics = createMetricsStore({ runtime: virtual })
  const { clock, timers, random } = virtual
  const runtime: Runtime = { ...systemRuntime, clock, timers, random, logger: noopLogger, metrics }
  using rows = await sqliteOutbox([], systemRuntime)
  const events = [await rows.write('DEAD', 'o-1'), await rows.write('NEW', 'o-1')]
  await virtual.run(async () => {
    const sim = createSimCluster({ brokers: 1, runtime: virtual })
    await using stack = new AsyncDisposableStack()
    stack.use(metrics)
    const client = stack.use(
      createKafkaClient({ brokers: sim.brokers, transport: sim.transport('fuzz'), clientId: 'fuzz', runtime: virtual }),
    )
    await client.admin.createTopics([
      { topic: 'orders', partitions: 2, replication: 1 },
      { topic: 'mails', partitions: 1, replication: 1 },
    ])
    const auditLog = createMemoryAuditLog()
    const connector = createConnector({
      clusters: { default: client },
      runtime,
      instance: 'shop-0',
      administration: { permits: () => true, auditLog },
      code: { handlers: { echo: () => {} } },
      bindings: {
        shipping: {
          topic: 'orders',
          groupId: 'shipping',
          retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 1_000 }] },
          handler: ({ value }) => {
            throw new NonRetryableError(`${String(value)} is refused`)
          },
        },
        mail: { topic: 'mails', groupId: 'mail', handler: () => {} },
      },
    })
    stack.defer(() => connector.stop({ deadlineMs: 1_000 }).catch(() => {}))
    const admin = stack.use(
      createAdmin({
        connector,
        clusters: { default: client },
        outboxes: { orders: rows.outbox },
        projections: {
          balances: { projection: { name: 'balances', revision: 1 }, store: createMemoryProjectionStore() },
        },
        topologies: { default: defineTopology({ environment: 'DEV', topics: [{ name: 'orders', partitions: 2 }] }) },
        editing: { headers: 'CUSTOM' },
        metrics,
        auditLog,
        runtime,
        identify({ headers }) {
          const by = /^Bearer (.+)$/.exec(headers['authorization'] ?? '')?.[1]
          return by === undefined ? null : { by }
        },
        authorize: ({ by }) => strangers[by] ?? (by.startsWith('admin-') ? 'ALL' : 'FORBIDDEN'),
      }),
    )
    await connector.start()
    const producer = client.producer('EVENT')
    for (const value of ['a', 'b', 'c'])
      await producer.send({ topic: 'orders', key: Buffer.from(value), value: Buffer.from(value) })
    await producer.close()
    const letters = async (): Promise<bigint> => {
      const ranges = await connector.admin.deadLetterRanges('shipping', { by: 'fuzz' })
      return ranges.reduce((sum, { from, until }) => sum + until - from, 0n)
    }
    const buried = async (): Promise<void> => {
      const count = await letters()
      if (count !== 3n) throw new Error(`${count} of 3 are dead`)
    }
    await eventually(buried, { runtime: virtual, deadlineMs: 60_000 })
    const planned = await sent(
      admin,
      {
        method: 'POST',
        url: '/eventbus/operations?dryRun=true',
        headers: { 'content-type': 'application/json' },
        body: Buffer.from('{"type":"REPLAY","binding":"shipping","filter":{}}'),
      },
      'admin-0',
    )
    const { id } = JSON.parse(textOf(planned)) as { readonly id: string }
    await program({
      admin,
      names: {
        name: ['shipping', 'default:shipping', 'mail', 'balances'],
        binding: ['shipping', 'default:mail'],
        outbox: ['orders'],
        projection: ['balances'],
        eventId: events,
        groupId: ['shipping', 'mail'],
        id: [id, 'orders.DLT:0:0', 'orders.DLT:1:0'],
        group: ['000000000000'],
        handler: ['echo'],
      },
      async digest() {
        const bindings = connector.listBindings().map(({ name, state, pausedBy }) => [name, state, pausedBy])
        const { items } = await createdOperations(admin)
        const topics = await client.admin.listTopics()
        const backlog = await rows.outbox.database.connection((connection) =>
          rows.outbox.store.backlog(connection, { countUpTo: 100 }),
        )
        return JSON.stringify([bindings, items, topics, String(await letters()), backlog.pending, backlog.dead])
      },
    })
  })
}

async function createdOperations(admin: Admin): Promise<{ readonly items: readonly object[] }> {
  const answer = await sent(
    admin,
    { method: 'GET', url: '/eventbus/operations?limit=500', headers: {}, body: undefined },
    'admin-observer',
  )
  return JSON.parse(textOf(answer)) as { readonly items: readonly object[] }
}
