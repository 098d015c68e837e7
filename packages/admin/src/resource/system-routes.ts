import type { ConnectorHealth, ThresholdReport } from '@waybill/connector'
import type { FleetInstance } from '@waybill/connector/internal'
import { prometheusContentType, prometheusText } from '@waybill/core/internal'
import { instantOf } from '../json/write-json.ts'
import { type Route, route } from '../route/route.ts'
import { list, mapOf, object } from '../schema/composite-schemas.ts'
import { named, nullable, optional, type Schema } from '../schema/schema.ts'
import { anyJson, boolean, instant, int64, integer, openWord } from '../schema/value-schemas.ts'
import type { AdminServices } from '../service/admin-services.ts'
import { words } from './answer-schemas.ts'

const probeSchema: Schema = named('Probe', object({ status: openWord(['UP', 'DOWN']), reasons: list(words) }))

const findingSchema: Schema = named(
  'Finding',
  object({
    status: openWord(['UP', 'DEGRADED', 'DOWN']),
    binding: nullable(words),
    what: words,
    hint: words,
    since: nullable(instant),
  }),
)

const healthSchema: Schema = named(
  'Health',
  object({
    status: openWord(['UP', 'DEGRADED', 'DOWN']),
    reasons: list(words),
    remarks: list(words),
    findings: list(findingSchema),
    scope: openWord(['INSTANCE', 'FLEET']),
    thresholds: nullable(mapOf(anyJson)),
  }),
)

const meSchema: Schema = named(
  'Me',
  object({
    by: words,
    roles: list(words),
    permissions: mapOf(anyJson),
    scope: openWord(['INSTANCE', 'FLEET']),
    editing: boolean,
    durable: boolean,
    deadLetters: openWord(['INDEX', 'MEMORY']),
    auditReadable: boolean,
    requireReason: openWord(['ALWAYS', 'DESTRUCTIVE', 'NEVER']),
    hasIdentity: boolean,
    projections: optional(boolean),
  }),
)

const instanceSchema: Schema = named(
  'Instance',
  object({
    instance: words,
    /** Identifies one run of the process. */
    incarnation: words,
    version: nullable(words),
    alive: boolean,
    seenAt: instant,
    /** The last report of the process. Null: it sends none, like one of an earlier version. */
    health: nullable(object({ status: openWord(['UP', 'DEGRADED', 'DOWN']), reasons: list(words) })),
    bindings: list(
      object({
        cluster: words,
        binding: words,
        state: openWord(['CREATED', 'RUNNING', 'PAUSED', 'STOPPED', 'DESTROYED']),
        pausedBy: list(words),
        partitions: nullable(integer()),
        lag: nullable(int64),
        breaker: nullable(openWord(['CLOSED', 'OPEN', 'HALF_OPEN'])),
      }),
    ),
  }),
)

/** Routes about the server itself: probes, metrics, health, and the operator who asks. */
export function systemRoutes(services: AdminServices): readonly Route[] {
  const { connector, options } = services
  const tag = 'System'
  const probe = (id: string, path: string, summary: string, isUp: () => boolean): Route =>
    route({
      id,
      method: 'GET',
      path,
      tag,
      summary,
      access: 'PUBLIC',
      answer: probeSchema,
      // Reasons name topics and bindings, and a probe has no identity: see /eventbus/health.
      run: () =>
        isUp() ? { body: { status: 'UP', reasons: [] } } : { status: 503, body: { status: 'DOWN', reasons: [] } },
    })
  return [
    probe('getLiveness', '/livez', 'Says whether only a restart can help', () => connector?.live() ?? true),
    probe(
      'getReadiness',
      '/readyz',
      'Says whether the connector runs and is not DOWN',
      () => connector?.ready() ?? true,
    ),
    probe('getStartup', '/startupz', 'Says whether the connector has started', () => connector?.startup() ?? true),
    route({
      id: 'getMetrics',
      method: 'GET',
      path: '/metrics',
      tag,
      summary: 'Returns all metrics as Prometheus text',
      access: options.publicMetrics ? 'PUBLIC' : { permission: 'bindings:read', of: 'ALL' },
      produces: prometheusContentType,
      run: () => ({ raw: options.metrics === undefined ? '' : prometheusText(options.metrics) }),
    }),
    route({
      id: 'getHealth',
      method: 'GET',
      path: '/eventbus/health',
      tag,
      summary: 'Shows the health of this process with its reasons',
      access: { permission: 'bindings:read', of: 'ALL' },
      answer: healthSchema,
      run() {
        const thresholds = thresholdsOf(options.thresholds?.report())
        return { body: { ...healthView(connector?.health() ?? healthy), scope: 'INSTANCE', thresholds } }
      },
    }),
    route({
      id: 'getMe',
      method: 'GET',
      path: '/eventbus/me',
      tag,
      summary: 'Shows who asks, and what they may do',
      access: 'IDENTIFIED',
      answer: meSchema,
      run: ({ identity, grants }) => ({
        body: {
          by: identity.by,
          roles: identity.roles ?? [],
          permissions: grants.toJSON(),
          scope: connector?.admin.scope ?? 'INSTANCE',
          editing: options.editing !== false,
          durable: services.operations.isDurable,
          deadLetters: options.deadLetters?.mode ?? 'MEMORY',
          auditReadable: options.auditLog?.query !== undefined,
          requireReason: options.requireReason,
          hasIdentity: options.identify !== undefined,
        },
      }),
    }),
    route({
      id: 'listInstances',
      method: 'GET',
      path: '/eventbus/instances',
      tag,
      summary:
        'Lists the processes that the control of the connector knows, also those without a binding; this one first',
      access: { permission: 'bindings:read', of: 'ALL' },
      answer: object({ items: list(instanceSchema), scope: openWord(['INSTANCE', 'FLEET']) }),
      async run() {
        const instances = (await connector?.admin.instances()) ?? []
        return { body: { items: instances.map(instanceView), scope: connector?.admin.scope ?? 'INSTANCE' } }
      },
    }),
  ]
}

function thresholdsOf(report: ThresholdReport | undefined): object | null {
  if (report === undefined) return null
  const readings = report.readings.map(({ figure, subject, value, status, threshold, runbook }) => ({
    figure,
    subject,
    value,
    status,
    threshold,
    runbook,
  }))
  return { status: report.status, readings }
}

const healthy: ConnectorHealth = { status: 'UP', reasons: [], remarks: [], findings: [] }

/** Returns the health of a connector as answers show it. */
export function healthView({ status, reasons, remarks, findings }: ConnectorHealth): object {
  return {
    status,
    reasons,
    remarks,
    findings: findings.map(({ sinceMs, binding, ...finding }) => ({
      ...finding,
      binding: binding ?? null,
      since: instantOf(sinceMs),
    })),
  }
}

/** Returns a process as answers show it. */
export function instanceView(one: FleetInstance): object {
  const { instance, incarnation, version, isAlive, seenAtMs, bindings, health } = one
  return {
    instance,
    incarnation,
    version: version ?? null,
    alive: isAlive,
    seenAt: instantOf(seenAtMs),
    health: health === undefined ? null : { status: health.status, reasons: health.reasons },
    bindings: bindings.map(({ target, state, pausedBy, figures }) => ({
      cluster: target.cluster,
      binding: target.binding,
      state,
      pausedBy,
      partitions: figures?.partitions ?? null,
      lag: figures?.lag ?? null,
      breaker: figures?.breaker ?? null,
    })),
  }
}
