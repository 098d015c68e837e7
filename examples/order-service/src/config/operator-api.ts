import { type Admin, createAdmin } from '@waybill/admin'
import type { Connector } from '@waybill/connector'
import type { AuditLog, MetricsStore, Runtime } from '@waybill/core'
import type { KafkaClient } from '@waybill/kafka'
import { createDeadEvents } from '@waybill/outbox'
import { type createAuditLog, createOperationStore, createOutboxStore, type SqlDatabase } from '@waybill/sql'
import type { OrderEvents } from '../infrastructure/kafka/order-events.ts'
import { operatorCredentials } from '../interfaces/http/operator-login.ts'
import { operatorAccessOf } from '../interfaces/http/role-access.ts'
import { type Authenticate, UnauthenticatedError } from '../interfaces/http/token-authenticator.ts'

/** The parts that operators see and change. */
export interface OperatorApiParts<Tx> {
  readonly database: SqlDatabase<Tx>
  readonly kafka: KafkaClient
  readonly connector: Connector
  readonly outbox: { lookNow(): void }
  readonly events: OrderEvents
  readonly auditLog: ReturnType<typeof createAuditLog>
  readonly authenticate: Authenticate
  readonly metrics: MetricsStore
  readonly runtime: Runtime
}

/** Permits what the API has checked: operators come through it alone. */
export function administrationOf(auditLog: AuditLog): { permits: () => boolean; auditLog: AuditLog } {
  return { permits: () => true, auditLog }
}

/** Creates the admin API. Its operators have the tokens of this service, with the role ADMIN, OPERATOR or VIEWER. */
export function createOperatorApi<Tx>(parts: OperatorApiParts<Tx>): Admin {
  const { database, kafka, connector, outbox, events, auditLog, authenticate, metrics, runtime } = parts
  const store = createOutboxStore(database)
  const deadEvents = createDeadEvents({
    database,
    store,
    outbox,
    throwOnError: true,
    administration: administrationOf(auditLog),
    runtime,
  })
  return createAdmin({
    connector,
    clusters: { default: kafka },
    outboxes: { orders: { database, store, deadEvents, mode: 'LEASING' } },
    catalogs: { orders: events },
    operations: createOperationStore(database),
    auditLog,
    metrics,
    identify: async ({ headers }) => {
      try {
        const { subject, roles } = await authenticate(operatorCredentials(headers))
        return { by: subject, roles: [...roles] }
      } catch (error) {
        if (error instanceof UnauthenticatedError) return null
        throw error
      }
    },
    authorize: ({ roles = [] }) => operatorAccessOf(roles),
    runtime,
  })
}
