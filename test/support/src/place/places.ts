import type { ServiceName } from '@waybill/services'
import type { KafkaPlace } from './kafka-place.ts'
import type { MysqlPlace } from './mysql-place.ts'
import type { PlaceKind } from './place.ts'
import type { PostgresPlace } from './postgres-place.ts'
import type { RedisPlace } from './redis-place.ts'
import type { RegistryPlace } from './registry-place.ts'

/** The type of place on each service. */
export interface Places {
  readonly kafka: KafkaPlace
  readonly postgres: PostgresPlace
  readonly mysql: MysqlPlace
  readonly redis: RedisPlace
  readonly registry: RegistryPlace
}

const loaders: { readonly [N in ServiceName]: () => Promise<PlaceKind<Places[N]>> } = {
  kafka: async () => (await import('./kafka-place.ts')).kafkaPlaces,
  postgres: async () => (await import('./postgres-place.ts')).postgresPlaces,
  mysql: async () => (await import('./mysql-place.ts')).mysqlPlaces,
  redis: async () => (await import('./redis-place.ts')).redisPlaces,
  registry: async () => (await import('./registry-place.ts')).registryPlaces,
}

/** Loads the kind of place of a service. A test file loads only the drivers of the services it uses. */
export function loadPlaceKind<N extends ServiceName>(name: N): Promise<PlaceKind<Places[N]>> {
  return loaders[name]()
}
