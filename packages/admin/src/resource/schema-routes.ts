import { type Route, route } from '../route/route.ts'
import { list, object } from '../schema/composite-schemas.ts'
import { named, nullable, type Schema } from '../schema/schema.ts'
import { boolean, integer } from '../schema/value-schemas.ts'
import type { AdminServices } from '../service/admin-services.ts'
import { words } from './answer-schemas.ts'

const eventSchema: Schema = named(
  'EventSchema',
  object({
    catalog: words,
    event: words,
    topic: words,
    aggregateType: words,
    version: integer({ min: 1 }),
    /** Versions that handlers read: those with a step to the newest, and the newest. */
    versions: list(integer({ min: 1 })),
    /** Whether one schema reads all versions, without a step. */
    readsAllVersions: boolean,
    wireFormat: words,
    hasCodec: boolean,
    undeclared: words,
    description: nullable(words),
  }),
)

/** Routes of the catalogs of events. */
export function schemaRoutes({ options }: AdminServices): readonly Route[] {
  return [
    route({
      id: 'listSchemas',
      method: 'GET',
      path: '/eventbus/schemas',
      tag: 'Topics and groups',
      summary: 'Lists the events of the catalogs with their versions',
      access: { permission: 'topics:read', of: 'ALL' },
      answer: object({ items: list(eventSchema), next: nullable(words) }),
      run() {
        const items = Object.entries(options.catalogs).flatMap(([catalog, { definitions, wireFormat, undeclared }]) =>
          Object.entries(definitions).map(([event, definition]) => {
            const { topic, aggregateType, version, upcasters = {}, codec, description } = definition
            const earlier = Object.keys(upcasters).map(Number)
            return {
              catalog,
              event,
              topic,
              aggregateType,
              version,
              versions: [...earlier, version].toSorted((one, other) => one - other),
              readsAllVersions: earlier.length === 0,
              wireFormat: wireFormat.name,
              hasCodec: codec !== undefined,
              undeclared: undeclared ?? 'REFUSE',
              description: description ?? null,
            }
          }),
        )
        return { body: { items, next: null } }
      },
    }),
  ]
}
