export type { Availability, ServiceInRun, ServicesInRun, ServicesInUse } from './availability.ts'
export { describeWith, describeWithPrivate } from './describe-with.ts'
export { exchangeRecord } from './exchange-record.ts'
export { findServices, type RunServices } from './find-services.ts'
export { hostile } from './hostile-errors.ts'
export { type KindsInRun, summarizeKinds } from './kind-summary.ts'
export type { KafkaPlace, TopicOptions } from './place/kafka-place.ts'
export type { MysqlPlace } from './place/mysql-place.ts'
export type { Place, PlaceKind } from './place/place.ts'
export { createPlaceName, isStalePlace, placeCreatedAt } from './place/place-name.ts'
export { loadPlaceKind, type Places } from './place/places.ts'
export type { PostgresPlace } from './place/postgres-place.ts'
export type { RedisPlace } from './place/redis-place.ts'
export { endInput } from './program-input.ts'
export { code, optionTable, page, table } from './reference-page.ts'
export { type Requirement, type Requirements, readRequirements, requirable } from './requirement.ts'
export { type ProgramOptions, type ProgramResult, runProgram } from './run-program.ts'
export {
  brokerUser,
  type ListenerAddress,
  type SecuredBroker,
  secureBroker,
  sessionLifetimeMs,
} from './secured-broker.ts'
export { type CountedTest, type ServiceSummary, summarizeServices } from './service-summary.ts'
