import { Grants } from '../access/access.ts'
import { sparksOf } from '../dead-letters/group-sparks.ts'
import { auditView } from '../resource/audit-routes.ts'
import { summaryOf } from '../resource/binding-view.ts'
import { groupView } from '../resource/letter-view.ts'
import { operationView, subjectOf } from '../resource/operation-view.ts'
import { outboxSummary } from '../resource/outbox-routes.ts'
import { healthView } from '../resource/system-routes.ts'
import type { AdminServices } from '../service/admin-services.ts'
import { bindingKey } from '../service/find-binding.ts'
import type { StreamSource } from './stream-hub.ts'

/** The newest operations and entries, which lists continue. */
const shownOperations = 100
const shownEntries = 50
const shownGroups = 50
/** Groups and outboxes are counted by their databases. */
const slowMs = 5_000

/** Returns the parts of the state that the stream shows. */
export function streamSources(services: AdminServices): readonly StreamSource[] {
  const { connector, operations, options, letters } = services
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
      kind: 'group',
      topic: 'groups',
      // Its counts include all bindings.
      permission: 'dlt:read',
      isWindow: true,
      everyMs: slowMs,
      async read() {
        await letters.current()
        const { items } = await letters.index.groups({}, 'LAST', { limit: shownGroups })
        const ids = items.map(({ group }) => group)
        const sparkOf = await sparksOf(letters.index, {}, ids, options.runtime.clock.now())
        return items.map((group) => ({
          key: group.group,
          subject: undefined,
          data: groupView(group, { grants: new Grants('FORBIDDEN') }, sparkOf?.(group.group)),
        }))
      },
    },
    {
      kind: 'outbox',
      topic: 'overview',
      permission: 'outbox:read',
      everyMs: slowMs,
      read: () =>
        Promise.all(
          Object.entries(options.outboxes).map(async ([name, outbox]) => ({
            key: name,
            subject: name,
            data: await outboxSummary(services, { name, outbox }),
          })),
        ),
    },
    {
      kind: 'health',
      topic: 'health',
      permission: 'bindings:read',
      async read() {
        const health = connector?.health()
        if (health === undefined) return []
        return [{ key: 'connector', subject: undefined, data: healthView(health) }]
      },
    },
    {
      kind: 'instance',
      topic: 'overview',
      permission: 'bindings:read',
      async read() {
        const instances = (await connector?.admin.instances()) ?? []
        return instances.map(({ instance, incarnation, version, isAlive, bindings, health }) => ({
          key: incarnation,
          subject: undefined,
          // The time when it was last heard of changes with each status, and is no change of the process.
          data: {
            instance,
            version: version ?? null,
            alive: isAlive,
            health: health === undefined ? null : { status: health.status, reasons: health.reasons },
            bindings: bindings.map(({ target, state }) => ({
              cluster: target.cluster,
              binding: target.binding,
              state,
            })),
          },
        }))
      },
    },
  ]
}
