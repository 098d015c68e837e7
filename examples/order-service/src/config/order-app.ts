/** The composition root of one instance: every part is made here and nowhere else. */

import { setTimeout as sleep } from 'node:timers/promises'
import { createConnector } from '@waybill/connector'
import {
  type Backpressure,
  createBackpressure,
  createMetricsStore,
  createService,
  createSupervisor,
  createUlidGenerator,
  type Logger,
  type MetricsStore,
  runtimeWith,
  type Service,
} from '@waybill/core'
import { createMemoryRequestStore, createRedisRequestStore, createRequestIdempotency } from '@waybill/core/idempotency'
import { publishEvents } from '@waybill/kafka'
import { adaptiveRetry, Outbox } from '@waybill/outbox'
import { createInbox, createOutboxStore } from '@waybill/sql'
import { prometheusText } from '@waybill/telemetry'
import type { FastifyInstance } from 'fastify'
import type { JWTVerifyGetKey } from 'jose'
import { OrderQueryService } from '../application/order-query-service.ts'
import { OrderService } from '../application/order-service.ts'
import { PendingPromotion } from '../application/pending-promotion.ts'
import { orderCreatedBinding } from '../infrastructure/kafka/order-created-consumer.ts'
import { orderEvents } from '../infrastructure/kafka/order-events.ts'
import { MemoryOrderCache } from '../infrastructure/redis/memory-cache.ts'
import { MemoryRateLimiter } from '../infrastructure/redis/memory-rate-limiter.ts'
import { RedisOrderCache } from '../infrastructure/redis/redis-cache.ts'
import { RedisRateLimiter } from '../infrastructure/redis/redis-rate-limiter.ts'
import { defaultRate } from '../infrastructure/redis/token-bucket.ts'
import { createOrderReader } from '../infrastructure/sql/order-reader.ts'
import { createTables, processedEventsTable } from '../infrastructure/sql/order-tables.ts'
import { createOrderTransactions } from '../infrastructure/sql/order-transactions.ts'
import { recordUpdate } from '../infrastructure/sql/region-view.ts'
import { createRegionLease } from '../infrastructure/sql/sql-region-lease.ts'
import { createHttpServer } from '../interfaces/http/http-server.ts'
import { createTokenAuthenticator } from '../interfaces/http/token-authenticator.ts'
import { createWriteGate } from '../load/write-gate.ts'
import { type DependencyCheck, RegionFailover } from '../region/region-failover.ts'
import { defaultThresholds } from '../region/region-state.ts'
import type { Resources } from './resources.ts'
import type { Settings } from './settings.ts'

/** An instance of the service. Starting it begins to publish, consume and promote, and listens. */
export interface OrderApp extends Service {
  readonly http: FastifyInstance
  readonly failover: RegionFailover
  readonly pressure: Backpressure
  readonly promotion: PendingPromotion
}

/** How an instance runs. */
export interface OrderAppOptions {
  readonly settings: Settings
  readonly keys: JWTVerifyGetKey
  readonly logger: Logger
  /** 0 takes a free port. */
  readonly port: number
  readonly host?: string
}

/** Creates an instance, with its tables. The caller closes the resources. */
export async function createOrderApp<Tx>(
  { orders, kafka, redis, topic }: Resources<Tx>,
  { settings, keys, logger, port, host = '127.0.0.1' }: OrderAppOptions,
): Promise<OrderApp> {
  const { region } = settings
  const { database } = orders
  const metrics = createMetricsStore()
  const runtime = runtimeWith({ metrics, logger })
  const now = (): number => runtime.clock.now()
  const events = orderEvents(topic)
  await createTables(orders)

  const failover = new RegionFailover({
    region,
    checks: checksOf(orders, kafka, redis),
    isEnabled: settings.failover === 'ON',
    lease: createRegionLease(orders),
    leaseMs: 15_000,
    thresholds: defaultThresholds,
    intervalMs: 5_000,
    checkTimeoutMs: 2_000,
    slowCheckMs: 150,
    now,
    logger,
    metrics,
  })
  // Each reads when the other exists: retries slow down under pressure, and pressure counts what the outbox holds.
  const pressure: Backpressure = createBackpressure({
    inputs: {
      'outbox.backlog': { read: () => backlogOf(outbox), elevated: 2_000, critical: 10_000 },
      'kafka.lag.ms': { read: () => lagOf(metrics), elevated: 120_000, critical: 600_000 },
      'db.saturation': { read: orders.saturation, elevated: 0.75, critical: 0.9 },
    },
    runtime,
  })
  const outbox = Outbox.leasing({
    events,
    database,
    store: createOutboxStore(database),
    listeners: publishEvents(kafka, events),
    instanceId: settings.instanceId,
    instanceCount: settings.instanceCount,
    retry: adaptiveRetry({ throttlingFactor: pressure.factor }),
    purge: { archive: true }, // Published events move to the history table after seven days.
    runtime,
  })

  const reader = createOrderReader(orders.reads)
  const transactions = createOrderTransactions(orders, (tx, record) => {
    const { id: orderId, version } = record
    return outbox.write(
      tx,
      'ORDER_CREATED',
      { orderId, region: record.region, version },
      { occurredAt: record.createdAt },
    )
  })
  const cache =
    redis === null
      ? new MemoryOrderCache()
      : new RedisOrderCache({
          redis,
          logger,
          metrics,
          now,
          random: runtime.random,
          idTtlMs: 300_000,
          listTtlMs: 60_000,
        })
  const limiter =
    redis === null
      ? new MemoryRateLimiter(defaultRate, pressure.factor, now)
      : new RedisRateLimiter({ redis, rate: defaultRate, factor: pressure.factor, logger, metrics })
  const requests = createRequestIdempotency({
    store:
      redis === null ? createMemoryRequestStore() : createRedisRequestStore(redis, { prefix: 'global:idempotency:' }),
    database,
    runtime,
  })
  const gate = createWriteGate(failover, pressure)
  const newId = createUlidGenerator(runtime)
  const service = new OrderService({ transactions, reader, requests, cache, gate, region, newId, now })
  const queries = new OrderQueryService(reader, cache, settings)
  const promotion = new PendingPromotion({
    transactions,
    reader,
    cache,
    gate,
    region,
    now,
    batchSize: settings.promotionBatchSize,
    onFailure: (orderId, err) => logger.warn({ orderId, err }, 'Order not promoted'),
  })

  const connector = createConnector({
    clusters: { default: kafka },
    bindings: {
      orderCreated: orderCreatedBinding({
        events,
        inbox: createInbox(database, { table: processedEventsTable }),
        groupId: `${topic}.${region}`,
        allowsWrites: () => failover.allowsWrites(),
        record: (tx, orderId, stamp) => recordUpdate(orders.within(tx), orderId, stamp, database.dialect !== 'sqlite'),
      }),
    },
    runtime,
  })
  const http = createHttpServer({
    orders: service,
    queries,
    authenticate: createTokenAuthenticator({ issuer: settings.issuer, audience: settings.audience, keys }),
    limiter,
    newRequestId: newId,
    now,
    logger,
    metrics: () => prometheusText(metrics),
    ready: () => {
      // A passive region still answers reads: it stays in the pool, and says what it does not do.
      const status = failover.allowsWrites() ? outbox.health().status : 'OUT_OF_SERVICE'
      const body = {
        status,
        mode: `active-passive:${failover.mode}`,
        pressure: pressure.level,
        outbox: outbox.health(),
      }
      return { isReady: outbox.ready(), body }
    },
  })
  const supervisor = createSupervisor({
    name: `orders ${region}/${settings.instanceId}`,
    services: {
      failover: createService({ name: 'failover', start: () => failover.start(), stop: () => failover.stop() }),
      pressure,
      outbox,
      connector,
      promotion: promotionService(promotion, settings.promotionIntervalMs, logger),
      http: createService({
        name: 'http',
        start: async () => void (await http.listen({ port, host })),
        stop: () => http.close(), // Waits for pending requests.
      }),
    },
    runtime,
  })
  return Object.assign(supervisor, { http, failover, pressure, promotion })
}

/** Promotes pending orders at an interval. */
function promotionService(promotion: PendingPromotion, intervalMs: number, logger: Logger): Service {
  const stopped = new AbortController()
  let running: Promise<void> = Promise.resolve()
  const repeat = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      await sleep(intervalMs, undefined, { signal: stopped.signal }).catch(() => {}) // Stopped: the loop ends.
      if (stopped.signal.aborted) return
      await promotion.promoteAll(stopped.signal).catch((err: unknown) => {
        logger.warn({ err }, 'Pending orders not promoted, the next round tries again')
      })
    }
  }
  return createService({
    name: 'promotion',
    start: () => {
      running = repeat()
    },
    stop: async () => {
      stopped.abort()
      await running
    },
  })
}

function checksOf<Tx>(
  { reads }: Resources<Tx>['orders'],
  kafka: Resources<Tx>['kafka'],
  redis: Resources<Tx>['redis'],
): Readonly<Record<string, DependencyCheck>> {
  return {
    database: async () => void (await reads.query('SELECT 1 AS up')),
    kafka: async () => void (await kafka.admin.listTopics()),
    ...(redis === null ? {} : { redis: async () => void (await redis.ping()) }),
  }
}

/** The age of the oldest record that waits to be consumed here. */
function lagOf(metrics: MetricsStore): number {
  let most = 0
  for (const { name, value } of metrics.read())
    if (name === 'eventbus.consumer.lag.seconds') most = Math.max(most, value)
  return most * 1_000
}

/** Events that are not published yet. Dead ones wait for an operator, not for this service. */
function backlogOf(outbox: {
  health(): { readonly table: { readonly pending: number; readonly retrying: number } | null }
}): number {
  const { table } = outbox.health()
  return table === null ? 0 : table.pending + table.retrying
}
