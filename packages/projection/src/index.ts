export { defineProjection, type ProjectionHead } from './definition/define-projection.ts'
export type {
  ProjectedEvent,
  Projection,
  ProjectionColumns,
  ProjectionDefinition,
  ProjectionFold,
} from './definition/projection.ts'
export {
  FoldFailedError,
  KeyQuarantinedError,
  ProjectionInputError,
  ProjectionStateError,
  RebuildFailedError,
  RebuildRefusedError,
  RevisionMismatchError,
  VersionGapError,
} from './definition/projection-errors.ts'
export type { ProjectionOperation } from './definition/projection-operation.ts'
export type { RowDifference } from './definition/row-difference.ts'
export {
  createMemoryProjectionStore,
  type MemoryProjectionOptions,
  type MemoryProjectionStore,
} from './memory/memory-projection-store.ts'
export { createProjector, type Projector, type ProjectorOptions } from './projector/create-projector.ts'
export {
  createQuarantine,
  type ProjectionQuarantine,
  type QuarantineOptions,
  type ReleasePreview,
} from './quarantine/create-quarantine.ts'
export { type DeadEvent, deadEvents } from './quarantine/dead-events.ts'
export { createRebuild, type Rebuild } from './rebuild/create-rebuild.ts'
export type { RebuildOptions } from './rebuild/rebuild-options.ts'
export type { EventHistory, HistoricalEvent } from './rebuild/rebuild-source.ts'
export type { RebuildStatus } from './rebuild/table-rebuild.ts'
export type { Verification } from './rebuild/verify-build.ts'
export { type ProjectionSpec, type SpecEvent, specOf } from './spec/spec-of.ts'
