export { createRegistryClient } from './http-registry.ts'
export { createMemoryRegistry, type MemoryRegistryOptions } from './memory-registry.ts'
export { RegistryUnavailableError, SchemaNotFoundError, SchemaRefusedError } from './registry-errors.ts'
export type { RegistryAuth, RegistryClientOptions } from './registry-options.ts'
export type {
  RegistryVerdict,
  SchemaDocument,
  SchemaReference,
  SchemaRegistry,
  SchemaType,
  SubjectVersion,
} from './schema-registry.ts'
