/** An admin with its console over a connector on a simulated cluster, listening on a real socket, in real time. */

import { Buffer } from 'node:buffer'
import { type Connector, createConnector } from '@waybill/connector'
import {
  type AuditEntry,
  createMetricsStore,
  NonRetryableError,
  noopLogger,
  type Runtime,
  runtimeWith,
} from '@waybill/core'
import { createMemoryAuditLog } from '@waybill/core/internal'
import { createKafkaClient, type KafkaClient } from '@waybill/kafka'
import { createSimCluster } from '@waybill/sim'
import { eventually } from '@waybill/testkit'
import type { AdminAccess } from '../../../src/access/access.ts'
import { createAdminServer } from '../../../src/mount/admin-server.ts'
import { type Admin, createAdmin } from '../../../src/mount/create-admin.ts'
import type { AdminOptions } from '../../../src/service/admin-options.ts'
import { type SqliteOutbox, sqliteOutbox } from '../../support/sqlite-outbox.ts'

/** A server with data. */
export interface ConsoleWorld extends AsyncDisposable {
  /** With a final slash. */
  readonly url: string
  readonly admin: Admin
  readonly connector: Connector
  readonly client: KafkaClient
  readonly rows: SqliteOutbox
  readonly write: (topic: string, values: readonly string[]) => Promise<void>
  /** Writes records whose handler fails with the text of their header `planted`, and waits until they are dead letters. */
  readonly bury: (records: readonly PlantedRecord[]) => Promise<void>
  /** From now on handlers succeed, as after a fix was deployed. */
  readonly heal: () => void
  /** Reads a route, as ana. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every shape
  readonly ask: (path: string) => Promise<any>
}

/** A record that dies. */
export interface PlantedRecord {
  /** @defaultValue `planted-` and its number */
  readonly key?: string
  readonly value: string | Buffer | null
  readonly headers?: Readonly<Record<string, string>>
  /** The text of the error. */
  readonly error?: string
}

/** The options of a world. */
export interface ConsoleWorldOptions {
  /** Whether there are bindings and records. @defaultValue true */
  readonly hasData?: boolean
  /** The permissions of `viewer`; `ana` may do everything. @defaultValue READ_ONLY */
  readonly viewer?: AdminAccess
  readonly admin?: Partial<AdminOptions>
}

/** Records of `orders` whose handler fails for good. */
export const badOrders: readonly string[] = Array.from({ length: 12 }, (_, at) => `bad-${at}`)

/**
 * Opens a server. With data it has the bindings `shipping`, whose records `bad-*` are dead letters and `slow-*` wait in a tier,
 * `billing`, which is paused by ana, and `mail`; and the outbox `orders` with a dead event.
 */
export async function openConsoleWorld(options: ConsoleWorldOptions = {}): Promise<ConsoleWorld> {
  const { hasData = true, viewer = 'READ_ONLY' } = options
  const stack = new AsyncDisposableStack()
  try {
    const metrics = stack.use(createMetricsStore())
    const runtime = runtimeWith({ logger: noopLogger, metrics })
    const sim = createSimCluster({ brokers: 1, runtime })
    const client = stack.use(
      createKafkaClient({ brokers: sim.brokers, transport: sim.transport('console'), clientId: 'console', runtime }),
    )
    const auditLog = createMemoryAuditLog()
    const rows = stack.use(await sqliteOutbox([] as AuditEntry[], runtime))
    const health = { isBroken: true }
    const connector = await startConnector(client, runtime, auditLog, hasData ? health : undefined, stack)
    const admin = stack.use(
      createAdmin({
        connector,
        clusters: { default: client },
        ...(hasData ? { outboxes: { orders: rows.outbox } } : {}),
        metrics,
        auditLog,
        runtime,
        identify({ headers }) {
          const by = /^Bearer (.+)$/.exec(headers['authorization'] ?? '')?.[1]
          return by === undefined ? null : { by, roles: [by === 'ana' ? 'admin' : 'viewer'] }
        },
        authorize: ({ by }) => (by === 'ana' ? 'ALL' : viewer),
        ...options.admin,
      }),
    )
    const server = stack.use(createAdminServer(admin, { port: 0 }))
    await server.start()
    const write = async (topic: string, values: readonly string[]): Promise<void> => {
      await using producer = client.producer('EVENT')
      for (const value of values) await producer.send({ topic, key: Buffer.from(value), value: Buffer.from(value) })
    }
    if (hasData) await fill(connector, rows, write)
    const bury = async (records: readonly PlantedRecord[]): Promise<void> => {
      const before = await deadCount(connector)
      await using producer = client.producer('EVENT')
      for (const [
        at,
        { key = `planted-${at}`, value, headers = {}, error = 'total is no whole number' },
      ] of records.entries())
        await producer.send({
          topic: 'orders',
          key: Buffer.from(key),
          value: typeof value === 'string' ? Buffer.from(value) : value,
          headers: Object.entries({ ...headers, planted: error }).map(
            ([name, text]) => [name, Buffer.from(text)] as const,
          ),
        })
      await untilDead(connector, before + records.length)
    }
    return {
      url: `${server.url}/`,
      admin,
      connector,
      client,
      rows,
      write,
      bury,
      heal() {
        health.isBroken = false
      },
      async ask(path) {
        const headers = { authorization: 'Bearer ana' }
        const { body } = await admin.handle({ method: 'GET', url: path, headers, remoteAddress: '127.0.0.1' })
        return JSON.parse(body as string)
      },
      [Symbol.asyncDispose]: () => stack.disposeAsync(),
    }
  } catch (error) {
    await stack.disposeAsync()
    throw error
  }
}

async function startConnector(
  client: KafkaClient,
  runtime: Runtime,
  auditLog: ReturnType<typeof createMemoryAuditLog>,
  health: { readonly isBroken: boolean } | undefined,
  stack: AsyncDisposableStack,
): Promise<Connector> {
  await client.admin.createTopics([
    { topic: 'orders', partitions: 3, replication: 1 },
    { topic: 'invoices', partitions: 2, replication: 1 },
    { topic: 'mails', partitions: 1, replication: 1 },
  ])
  const connector = createConnector({
    clusters: { default: client },
    runtime,
    instance: 'shop-0',
    administration: { permits: () => true, auditLog },
    bindings:
      health === undefined
        ? {}
        : {
            shipping: {
              topic: 'orders',
              groupId: 'shipping',
              retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 60_000 }, { delayMs: 600_000 }] },
              handler: ({ value, headers }) => {
                if (!health.isBroken) return
                const text = String(value)
                const planted = headers.text('planted')
                if (planted !== undefined) throw new NonRetryableError(planted)
                if (text.startsWith('bad')) throw new NonRetryableError(`${text} is refused`)
                if (text.startsWith('slow')) throw new Error('502 from shipping-api')
              },
            },
            billing: { topic: 'invoices', groupId: 'billing', handler: () => {} },
            mail: { topic: 'mails', groupId: 'mail', handler: () => {} },
          },
  })
  stack.defer(() => connector.stop({ deadlineMs: 1_000 }).catch(() => {}))
  await connector.start()
  return connector
}

async function fill(
  connector: Connector,
  rows: SqliteOutbox,
  write: (topic: string, values: readonly string[]) => Promise<void>,
): Promise<void> {
  await rows.write('DEAD', 'o-1')
  await rows.write('NEW', 'o-1')
  await write('orders', [...badOrders, 'slow-1', 'slow-2', ...Array.from({ length: 40 }, (_, at) => `good-${at}`)])
  await connector.admin.pause('billing', { by: 'ana', reason: 'INC-311' })
  await write('invoices', ['i-1', 'i-2'])
  await write('mails', ['m-1'])
  await untilDead(connector, badOrders.length)
}

async function deadCount(connector: Connector): Promise<number> {
  const ranges = await connector.admin.deadLetterRanges('shipping', { by: 'ana' })
  return Number(ranges.reduce((sum, { from, until }) => sum + until - from, 0n))
}

async function untilDead(connector: Connector, count: number): Promise<void> {
  await eventually(async () => {
    const found = await deadCount(connector)
    if (found !== count) throw new Error(`${found} of ${count} are dead`)
  })
}
