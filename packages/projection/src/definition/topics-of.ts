import type { Schemas } from '@waybill/core'
import type { Projection } from './projection.ts'

/** Returns the topics that a projection reads. */
export function topicsOf<S extends Schemas>({ events }: Pick<Projection<S, unknown>, 'events'>): ReadonlySet<string> {
  return new Set(Object.values(events.definitions).map(({ topic }) => topic))
}
