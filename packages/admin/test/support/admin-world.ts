import { Buffer } from 'node:buffer'
import { type Connector, type ConnectorOptions, createConnector } from '@waybill/connector'
import {
  type AuditEntry,
  type AuditLog,
  createMemoryLogger,
  createMetricsStore,
  type MemoryLogger,
  type MetricsStore,
  NonRetryableError,
  type Runtime,
  systemRuntime,
} from '@waybill/core'
import { type AuditReader, createMemoryAuditLog } from '@waybill/core/internal'
import { createKafkaClient, type KafkaClient } from '@waybill/kafka'
import { createSimCluster, createVirtualRuntime, type SimCluster, type VirtualRuntime } from '@waybill/sim'
import { eventually } from '@waybill/testkit'
import { expect } from 'vitest'
import type { AdminAccess } from '../../src/access/access.ts'
import { type Admin, createAdmin } from '../../src/mount/create-admin.ts'
import type { AdminOptions } from '../../src/service/admin-options.ts'
import { expectAsDocumented } from './documented-answer.ts'

/** An answer, with its body read. */
export interface Answered {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every shape
  readonly body: any
  readonly text: string
}

/** A request of a test. */
export interface Asked {
  readonly by?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

/** An admin over a connector on a simulated cluster, in virtual time. */
export interface AdminWorld {
  readonly sim: SimCluster
  readonly runtime: VirtualRuntime
  readonly client: KafkaClient
  readonly connector: Connector
  readonly admin: Admin
  readonly logger: MemoryLogger
  readonly metrics: MetricsStore
  /** Entries of both audit logs. */
  readonly audit: AuditEntry[]
  /** Sends a request as `ana`, who may do everything, or as another operator; '' sends no identity. */
  readonly ask: (method: string, url: string, asked?: Asked) => Promise<Answered>
  readonly write: (topic: string, values: readonly string[]) => Promise<void>
  readonly eventually: (assertion: () => void | Promise<void>) => Promise<void>
}

/** The options of a world. */
export interface WorldOptions {
  readonly access?: Readonly<Record<string, AdminAccess>>
  readonly admin?: Partial<AdminOptions>
  readonly connector?: Partial<ConnectorOptions> | ((runtime: Runtime) => Partial<ConnectorOptions>)
  /** Whether the handler of `shipping` succeeds. */
  readonly isHandled?: (value: string) => boolean
}

/** Runs a program against an admin with the bindings `shipping`, whose handler fails permanently, and `mail`. */
export async function adminWorld(options: WorldOptions, program: (world: AdminWorld) => Promise<void>): Promise<void> {
  const logger = createMemoryLogger()
  const base = createVirtualRuntime(7, { logger })
  const store = createMetricsStore({ runtime: base })
  const runtime: Runtime = {
    ...systemRuntime,
    clock: base.clock,
    timers: base.timers,
    random: base.random,
    logger,
    metrics: store,
  }
  await base.run(async () => {
    const sim = createSimCluster({ brokers: 1, runtime: base })
    await using stack = new AsyncDisposableStack()
    stack.use(store)
    const client = stack.use(
      createKafkaClient({ brokers: sim.brokers, transport: sim.transport('test'), clientId: 'test', runtime: base }),
    )
    await client.admin.createTopics([
      { topic: 'orders', partitions: 2, replication: 1 },
      { topic: 'mails', partitions: 1, replication: 1 },
    ])
    const audit: AuditEntry[] = []
    const kept = createMemoryAuditLog()
    const auditLog: AuditLog & Partial<AuditReader> = {
      write(entry: AuditEntry) {
        audit.push(entry)
        return kept.write(entry)
      },
      query: (query, page) => kept.query(query, page),
    }
    const isHandled = options.isHandled ?? (() => false)
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
            if (!isHandled(String(value))) throw new NonRetryableError(`${String(value)} is refused`)
          },
        },
        mail: { topic: 'mails', groupId: 'mail', handler: () => {} },
      },
      ...(typeof options.connector === 'function' ? options.connector(runtime) : options.connector),
    })
    stack.defer(() => connector.stop({ deadlineMs: 1_000 }).catch(() => {}))
    const access = options.access ?? {}
    const admin = stack.use(
      createAdmin({
        connector,
        clusters: { default: client },
        metrics: store,
        auditLog,
        runtime,
        identify({ headers }) {
          const by = /^Bearer (.+)$/.exec(headers['authorization'] ?? '')?.[1]
          return by === undefined ? null : { by }
        },
        authorize: ({ by }) => access[by] ?? (by === 'ana' ? 'ALL' : 'FORBIDDEN'),
        ...options.admin,
      }),
    )
    const ask = async (
      method: string,
      url: string,
      { by = 'ana', headers = {}, body }: Asked = {},
    ): Promise<Answered> => {
      const sent = body === undefined ? undefined : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
      const answer = await admin.handle(
        {
          method,
          url,
          remoteAddress: '10.0.0.9',
          headers: {
            ...(by === '' ? {} : { authorization: `Bearer ${by}` }),
            ...(sent === undefined
              ? {}
              : { 'content-type': 'application/json', 'content-length': String(sent.length) }),
            ...headers,
          },
        },
        sent === undefined ? undefined : chunksOf(sent),
      )
      const text = await textOf(answer.body)
      const isJson = answer.headers['content-type']?.includes('json') === true && text !== ''
      const answered = {
        status: answer.status,
        headers: answer.headers,
        text,
        body: isJson ? JSON.parse(text) : undefined,
      }
      expectAsDocumented(admin.openApi(), method, url, answered)
      return answered
    }
    await program({
      sim,
      runtime: base,
      client,
      connector,
      admin,
      logger,
      metrics: store,
      audit,
      ask,
      async write(topic, values) {
        await using producer = client.producer('EVENT')
        for (const value of values) await producer.send({ topic, key: Buffer.from(value), value: Buffer.from(value) })
      },
      eventually: (assertion) => eventually(assertion, { runtime: base, deadlineMs: 60_000 }),
    })
    expect(audit.filter(({ outcome }) => outcome === 'ASKED').length).toBe(
      audit.filter(({ outcome }) => outcome === 'DONE' || outcome === 'FAILED').length,
    )
  })
}

async function* chunksOf(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield bytes
}

async function textOf(body: string | Uint8Array | AsyncIterable<string>): Promise<string> {
  if (typeof body === 'string') return body
  if (body instanceof Uint8Array) return Buffer.from(body).toString('utf8')
  const chunks: string[] = []
  for await (const chunk of body) chunks.push(chunk)
  return chunks.join('')
}
