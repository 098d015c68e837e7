export { type Command, parseCommandLine } from './command-line.ts'
export { type Absence, type Decision, decide, type Location, locate, type Unsuitable, type Wish } from './decide.ts'
export { cacheFolder, createRunFolder, removeRunFolder } from './folder.ts'
export { majorVersionOf } from './java.ts'
export { describeCluster, releaseOf } from './kafka/describe-cluster.ts'
export { type KafkaNode, serverProperties } from './kafka/server-properties.ts'
export type { ServiceKind } from './kind/service-kind.ts'
export { kinds } from './kinds.ts'
export { withLock } from './lock.ts'
export { type Observation, observe, type Seen } from './observation.ts'
export {
  type PrivateProcess,
  type PrivateService,
  type PrivateServiceOptions,
  startPrivateService,
} from './private-service.ts'
export { identify, isRunning, type ProcessIdentity } from './process/process-identity.ts'
export { endProcess, type ProcessPlan, spawnProcess, waitUntilReady } from './process/service-process.ts'
export { describeReports, toJsonLines, withoutPassword } from './report.ts'
export {
  type Answer,
  type Progress,
  reasonOf,
  ServiceError,
  type ServiceName,
  serviceNames,
  usualServices,
} from './service.ts'
export { type ServiceReport, ServiceSet, type ServiceSetOptions } from './service-set.ts'
export { type StartedProcess, type StartedService, StateFile } from './state-file.ts'
