import { type Route, route } from '../route/route.ts'
import { list } from '../schema/composite-schemas.ts'
import { about, withDefault } from '../schema/schema.ts'
import { oneOf } from '../schema/value-schemas.ts'
import type { StreamHub } from './stream-hub.ts'

const topics = ['overview', 'health', 'bindings', 'operations', 'groups', 'audit'] as const

/** The route of the stream. */
export function streamRoute(hub: StreamHub): Route {
  return route({
    id: 'getStream',
    method: 'GET',
    path: '/eventbus/stream',
    tag: 'System',
    summary:
      'Streams changes as server-sent events: a snapshot first, then binding, operation, group, outbox, audit, health, instance and heartbeat',
    access: 'IDENTIFIED',
    query: {
      topics: withDefault(about('Separated by commas.', list(oneOf(topics), { min: 1, max: topics.length })), [
        'overview',
        'bindings',
        'operations',
      ]),
    },
    produces: 'text/event-stream',
    isStream: true,
    async run({ query, request, identity, grants, signal }) {
      const lastEventId = request.headers['last-event-id']
      // The overview contains the health.
      const wanted = query.topics.includes('overview') ? [...query.topics, 'health'] : query.topics
      const raw = await hub.open({ by: identity.by, grants, topics: wanted, lastEventId, leave: signal })
      return { raw, headers: { 'x-accel-buffering': 'no' } }
    },
  })
}
