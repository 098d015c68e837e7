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
export {
  createMemoryProjectionStore,
  type MemoryProjectionOptions,
  type MemoryProjectionStore,
} from './memory/memory-projection-store.ts'
