import type { EventCatalog, Schemas } from '@waybill/core'
import { versionsOf } from '@waybill/core/internal'
import { compareSchemas } from '../compare/compare-schemas.ts'
import { type ContractFile, contractPath, inputSchemaOf } from '../file/contract-file.ts'
import { normalizeSchema } from '../file/normalize-schema.ts'
import type { GateFinding } from './gate-finding.ts'

/**
 * Compares released versions with the schemas that the upcast steps of a catalog read them with. A step is a function and can only
 * be tried; that it is given every event of its version is proven here.
 */
export function checkSteps(catalog: EventCatalog<Schemas>, released: readonly ContractFile[]): readonly GateFinding[] {
  return released.flatMap((contract) => findRefused(catalog, contract))
}

function findRefused(catalog: EventCatalog<Schemas>, contract: ContractFile): GateFinding[] {
  const { event, version, schema, undeclared } = contract
  if (!Object.hasOwn(catalog.definitions, event)) return []
  const known = versionsOf(catalog, event).find((each) => each.version === version)
  if (known === undefined || known.step === null) return []
  const found = compareSchemas(schema, normalizeSchema(inputSchemaOf(event, known.schema)), {
    mode: 'BACKWARD',
    format: 'ASSERTION',
    isSameVersion: false,
    writer: undeclared === 'ALLOW' ? 'ANY' : 'DECLARED',
  })
  return found.map((finding) => ({
    ...finding,
    at: { older: finding.at.older, newer: null },
    message: `step from version ${version}: ${finding.message}`,
    event,
    file: contractPath(contract),
    against: version,
  }))
}
