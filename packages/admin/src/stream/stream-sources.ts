import { summaryOf } from '../resource/binding-view.ts'
import type { AdminServices } from '../service/admin-services.ts'
import { bindingKey } from '../service/find-binding.ts'
import type { StreamSource } from './stream-hub.ts'

/** Returns the parts of the state that the stream shows. */
export function streamSources(services: AdminServices): readonly StreamSource[] {
  const { connector } = services
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
