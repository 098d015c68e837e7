/** The surface of the API: a route that is renamed or missing breaks clients, so it is listed here once more. */
import { expect, test } from 'vitest'
import { adminWorld } from '../support/admin-world.ts'

/** Paths that the specification of the event bus fixes. */
const specified = [
  'GET /eventbus/bindings',
  'POST /eventbus/bindings',
  'GET /eventbus/bindings/{name}',
  'DELETE /eventbus/bindings/{name}',
  'POST /eventbus/bindings/{name}/start',
  'POST /eventbus/bindings/{name}/stop',
  'POST /eventbus/bindings/{name}/pause',
  'POST /eventbus/bindings/{name}/resume',
  'POST /eventbus/bindings/{name}/dlt/replay',
  'POST /eventbus/bindings/{name}/dlt/replay-to-tier',
  'GET /eventbus/bindings/{name}/dlt/stats',
  'DELETE /eventbus/bindings/{name}/dlt',
]

const ours = [
  'GET /eventbus/bindings/{name}/configuration',
  'GET /eventbus/bindings/{name}/partitions',
  'GET /eventbus/bindings/{name}/pipeline',
  'GET /eventbus/bindings/{name}/series',
  'GET /eventbus/bindings/{name}/audit',
  'POST /eventbus/bindings/{name}/losses/acknowledge',
  'POST /eventbus/bindings/{name}/positions/seek',
  'POST /eventbus/bindings/{name}/positions/skip',
  'POST /eventbus/bindings/{name}/positions/reset',
  'POST /eventbus/bindings/{name}/dlt/release',
  'GET /eventbus/series',
  'GET /eventbus/dead-letters/groups',
  'GET /eventbus/dead-letters/groups/{group}',
  'PATCH /eventbus/dead-letters/groups/{group}',
  'GET /eventbus/dead-letters',
  'GET /eventbus/dead-letters/facets',
  'GET /eventbus/dead-letters/{id}',
  'GET /eventbus/dead-letters/{id}/raw',
  'POST /eventbus/dead-letters/{id}/edit',
  'GET /eventbus/dead-letters/scan',
  'POST /eventbus/operations',
  'GET /eventbus/operations',
  'GET /eventbus/operations/{id}',
  'PATCH /eventbus/operations/{id}',
  'GET /eventbus/operations/{id}/items',
  'POST /eventbus/operations/{id}/start',
  'POST /eventbus/operations/{id}/pause',
  'POST /eventbus/operations/{id}/resume',
  'POST /eventbus/operations/{id}/cancel',
  'GET /eventbus/outboxes',
  'GET /eventbus/outboxes/{outbox}',
  'GET /eventbus/outboxes/{outbox}/dead',
  'GET /eventbus/outboxes/{outbox}/events/{eventId}',
  'GET /eventbus/outboxes/{outbox}/blockers',
  'POST /eventbus/outboxes/{outbox}/dead/{eventId}/replay',
  'GET /eventbus/projections',
  'GET /eventbus/projections/{name}',
  'GET /eventbus/projections/{name}/quarantine',
  'GET /eventbus/topics',
  'GET /eventbus/topics/plan',
  'POST /eventbus/topics/apply',
  'GET /eventbus/groups',
  'GET /eventbus/groups/{groupId}',
  'GET /eventbus/instances',
  'GET /eventbus/schemas',
  'GET /eventbus/audit',
  'GET /eventbus/health',
  'GET /eventbus/me',
  'GET /eventbus/stream',
  'GET /livez',
  'GET /readyz',
  'GET /startupz',
  'GET /metrics',
  'GET /openapi.json',
]

test('the document has exactly the routes of the design', () =>
  adminWorld({}, async ({ admin }) => {
    const documented = Object.entries(admin.openApi().paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    )
    expect(documented.toSorted()).toEqual([...specified, ...ours].toSorted())
  }))
