import { auditView } from '../resource/audit-routes.ts'
import { summaryOf } from '../resource/binding-view.ts'
import { operationView, subjectOf } from '../resource/operation-view.ts'
import type { AdminServices } from '../service/admin-services.ts'
import { bindingKey } from '../service/find-binding.ts'
import type { StreamSource } from './stream-hub.ts'

/** The newest operations and entries, which lists continue. */
const shownOperations = 100
const shownEntries = 50

/** Returns the parts of the state that the stream shows. */
export function streamSources(services: AdminServices): readonly StreamSource[] {
  const { connector, operations, options } = services
  return [
    {
      kind: 'binding',
      topic: 'bindings',
      permission: 'bindings:read',
      async read() {
        const views = connector?.listBindings() ?? []
        return Promise.all(
          views.map(async (view) => {
            // The time of the reading changes each second and is no change of the binding.
            const { asOf: _, ...data } = (await summaryOf(services, view)) as { readonly asOf?: unknown }
            return { key: bindingKey(view), subject: bindingKey(view), data }
          }),
        )
      },
    },
    {
      kind: 'operation',
      topic: 'operations',
      permission: 'operations:read',
      isWindow: true,
      async read() {
        const { items } = await operations.list({}, { limit: shownOperations })
        return items.map((operation) => {
          // The lease is renewed every few seconds, which is no change of the operation.
          const { leaseUntil: _, ...data } = operationView(operation, {
            isDurable: operations.isDurable,
            showsPayloads: false,
          }) as { readonly leaseUntil?: unknown }
          return { key: operation.id, subject: subjectOf(operation).key, data }
        })
      },
    },
    {
      kind: 'audit',
      topic: 'audit',
      permission: 'audit:read',
      isWindow: true,
      async read() {
        const page = await options.auditLog?.query?.({}, { limit: shownEntries })
        return (page?.items ?? []).map((change) => ({
          key: change.id,
          subject: undefined,
          data: auditView(change, false),
        }))
      },
    },
    {
      kind: 'health',
      topic: 'health',
      permission: 'bindings:read',
      async read() {
        const health = connector?.health()
        if (health === undefined) return []
        const { status, reasons, remarks } = health
        return [{ key: 'connector', subject: undefined, data: { status, reasons, remarks } }]
      },
    },
    {
      kind: 'instance',
      topic: 'overview',
      permission: 'bindings:read',
      async read() {
        const statuses = (await connector?.admin.statuses()) ?? []
        return [...Map.groupBy(statuses, ({ instance }) => instance)].map(([key, all]) => {
          const bindings = all.map(({ target, state }) => ({ cluster: target.cluster, binding: target.binding, state }))
          return { key, subject: undefined, data: { instance: key, bindings } }
        })
      },
    },
  ]
}
