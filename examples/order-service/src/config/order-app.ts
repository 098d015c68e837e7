/** The composition root of one instance: every part is made here and nowhere else. */

import { type Connector, createConnector } from '@waybill/connector'
import {
  type Backpressure,
  createMetricsStore,
  createService,
  createSupervisor,
  createUlidGenerator,
  type Logger,
  type MetricsStore,
  type Runtime,
  runtimeWith,
  type Service,
} from '@waybill/core'
import { createRequestIdempotency } from '@waybill/core/idempotency'
import { publishEvents } from '@waybill/kafka'
import { adaptiveRetry, Outbox } from '@waybill/outbox'
import { createAuditLog, createInbox, createOutboxStore } from '@waybill/sql'
import { prometheusText } from '@waybill/telemetry'
import type { FastifyInstance } from 'fastify'
import type { JWTVerifyGetKey } from 'jose'
import { WritesRejectedError } from '../application/application-errors.ts'
import { OrderQueryService } from '../application/order-query-service.ts'
import { OrderService } from '../application/order-service.ts'
import { PendingPromotion } from '../application/pending-promotion.ts'
import type { Requests } from '../application/port/requests.ts'
import { orderCreatedBinding } from '../infrastructure/kafka/order-created-consumer.ts'
import { orderEvents } from '../infrastructure/kafka/order-events.ts'
import { pausableBinding } from '../infrastructure/kafka/pausable-binding.ts'
import { createOrderReader } from '../infrastructure/sql/order-reader.ts'
import { createTables, processedEventsTable } from '../infrastructure/sql/order-tables.ts'
import { createOrderTransactions } from '../infrastructure/sql/order-transactions.ts'
import { createRegionView } from '../infrastructure/sql/region-view.ts'
import { createRegionLease } from '../infrastructure/sql/sql-region-lease.ts'
import { createHttpServer } from '../interfaces/http/http-server.ts'
import { operatorPath } from '../interfaces/http/operator-login.ts'
import { createTokenAuthenticator } from '../interfaces/http/token-authenticator.ts'
import { createPressure } from '../load/pressure.ts'
import { createWriteGate } from '../load/write-gate.ts'
import { RegionClock } from '../region/region-clock.ts'
import { RegionConsumption } from '../region/region-consumption.ts'
import { type DependencyCheck, RegionFailover } from '../region/region-failover.ts'
import { defaultThresholds } from '../region/region-state.ts'
import { createIntervalService } from './interval-service.ts'
import { administrationOf, createOperatorApi } from './operator-api.ts'
import { backlogOf, checksOf, lagMsOf } from './readings.ts'
import type { Resources } from './resources.ts'
import type { Settings } from './settings.ts'
import { createSharedState } from './shared-state.ts'

/** An instance of the service. Starting it begins to publish, consume and promote, and listens. */
export interface OrderApp extends Service {
  readonly http: FastifyInstance
  readonly failover: RegionFailover
  readonly pressure: Backpressure
  readonly promotion: PendingPromotion
  readonly connector: Connector
  readonly metrics: MetricsStore
  /** Checks the dependencies of the region once, and pauses or resumes the consumer. */
  checkRegion(): Promise<void>
}

/** How an instance runs. */
export interface OrderAppOptions {
  readonly settings: Settings
  readonly keys: JWTVerifyGetKey
  readonly logger: Logger
  /** 0 takes a free port. */
  readonly port: number
  /** Dependencies that the region needs beside its own. @defaultValue none */
  readonly checks?: Readonly<Record<string, DependencyCheck>>
  /** @defaultValue the system's */
  readonly clock?: Runtime['clock']
}

const binding = 'orderCreated'

/** Runs every request, also a repeat. */
const unprotectedRequests: Requests = {
  run: async ({ caller }, steps) => ({
    result: await steps.create({ caller, key: null, fingerprint: '' }),
    isReplay: false,
  }),
}

/** Creates an instance, with its tables. The caller closes the resources. */
export async function createOrderApp<Tx>(
  resources: Resources<Tx>,
  { settings, keys, logger, port, checks = {}, clock }: OrderAppOptions,
): Promise<OrderApp> {
  const { orders, kafka, redis, topic } = resources
  const { region, instanceId, instanceCount } = settings
  const { database } = orders
  const metrics = createMetricsStore()
  const runtime = runtimeWith({ metrics, logger, ...(clock === undefined ? {} : { clock }) })
  const events = orderEvents(topic)
  const auditLog = createAuditLog(database)
  await createTables(orders)

  // Whether this region takes writes.
  const regionClock = new RegionClock(runtime)
  const failover = new RegionFailover({
    region,
    checks: { ...checksOf(resources), ...checks },
    isEnabled: settings.failover === 'ON',
    lease: createRegionLease(orders),
    leaseMs: 15_000,
    thresholds: defaultThresholds,
    checkTimeoutMs: 2_000,
    slowCheckMs: 150,
    runtime,
  })
  const pressure: Backpressure = createPressure(
    {
      backlog: () => backlogOf(outbox), // Read once the outbox exists, whose retries slow down under pressure.
      // A region that was passive is behind, and not by its own load: lag counts from when it became active.
      lagMs: () => Math.min(lagMsOf(metrics), failover.activeForMs),
      saturation: orders.saturation,
    },
    runtime,
  )
  const gate = createWriteGate(failover, pressure)

  // The use cases.
  const outbox = Outbox.leasing({
    events,
    database,
    store: createOutboxStore(database),
    listeners: publishEvents(kafka, events),
    instanceId,
    instanceCount,
    retry: adaptiveRetry({ throttlingFactor: pressure.factor }),
    purge: { archive: true }, // Published events move to the history table after seven days.
    runtime,
  })
  const { cache, limiter, requests: marks } = createSharedState(redis, pressure.factor, runtime)
  const isProtected = settings.protection === 'ON'
  const requests = isProtected ? createRequestIdempotency({ store: marks, database, runtime }) : unprotectedRequests
  const reader = createOrderReader(orders.reads)
  const transactions = createOrderTransactions(orders, async (tx, { id: orderId, region: at, version, createdAt }) => {
    if (isProtected)
      await outbox.write(tx, 'ORDER_CREATED', { orderId, region: at, version }, { occurredAt: createdAt })
  })
  const { now } = regionClock
  const newId = createUlidGenerator(runtime)
  const commands = new OrderService({ transactions, reader, requests, cache, gate, region, newId, now })
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

  // Events, as they come back from Kafka.
  const connector = createConnector({
    clusters: { default: kafka },
    bindings: {
      [binding]: orderCreatedBinding({
        events,
        inbox: createInbox(database, { table: processedEventsTable }),
        groupId: `${topic}.${region}`,
        allowsWrites: () => failover.allowsWrites(),
        observe: (stamp) => regionClock.observe(stamp),
        record: createRegionView(orders, region, runtime),
      }),
    },
    administration: administrationOf(auditLog),
    runtime,
  })
  const consumption = new RegionConsumption(pausableBinding(connector, binding), () => failover.mode, runtime)
  const checkRegion = async (): Promise<void> => {
    await failover.checkNow()
    await consumption.follow()
  }

  // The identity and the form of requests.
  const authenticate = createTokenAuthenticator({ issuer: settings.issuer, audience: settings.audience, keys })
  const operators = createOperatorApi({
    database,
    kafka,
    connector,
    outbox,
    events,
    auditLog,
    authenticate,
    metrics,
    runtime,
  })
  const http = createHttpServer({
    orders: commands,
    queries,
    authenticate,
    limiter,
    newRequestId: newId,
    runtime,
    metrics: () => prometheusText(metrics),
    ready: () => ({
      isReady: outbox.ready(),
      body: {
        // A passive region still answers reads: it stays in the pool, and says what it does not do.
        status: failover.allowsWrites() ? outbox.health().status : 'OUT_OF_SERVICE',
        mode: `active-passive:${failover.mode}`,
        pressure: pressure.level,
        outbox: outbox.health(),
      },
    }),
  })
  await http.register(operators.fastify, { prefix: operatorPath })

  const promote = async (signal: AbortSignal): Promise<void> => {
    await promotion.promoteAll(signal).catch((err: unknown) => {
      if (err instanceof WritesRejectedError) logger.debug({ err }, 'Promotion skipped')
      else logger.warn({ err }, 'Promotion failed, the next round repeats it')
    })
  }
  const supervisor = createSupervisor({
    name: `orders ${region}/${instanceId}`,
    services: {
      failover: createIntervalService({
        name: 'failover',
        intervalMs: 5_000,
        run: () => failover.checkNow(),
        isRunAtStart: true,
        runtime,
      }),
      pressure,
      outbox,
      connector,
      // After the connector: a consumer cannot be paused before it runs. Apart from the checks: a pause may wait for an
      // operator's command, and the lease must be renewed meanwhile.
      consumption: createIntervalService({
        name: 'consumption',
        intervalMs: 1_000,
        run: () => consumption.follow(),
        isRunAtStart: true,
        runtime,
      }),
      promotion: createIntervalService({
        name: 'promotion',
        intervalMs: settings.promotionIntervalMs,
        run: promote,
        runtime,
      }),
      operators: createService({ name: 'operators', start: () => {}, stop: () => operators.close() }),
      http: createService({
        name: 'http',
        start: async () => void (await http.listen({ port, host: settings.host })),
        stop: () => http.close(), // Waits for pending requests.
      }),
    },
    runtime,
  })
  return Object.assign(supervisor, { http, failover, pressure, promotion, connector, metrics, checkRegion })
}
