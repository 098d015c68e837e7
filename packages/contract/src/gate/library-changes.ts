import type { ContractFile } from '../file/contract-file.ts'

/** Another library, or another version of it, than the one that wrote the released contracts. */
export interface LibraryChange {
  /** As `zod 4.1.13`. */
  readonly from: string
  readonly to: string
  readonly events: readonly string[]
}

/** Returns the changes of schema libraries between the newest released contract of each event and its newest one now. */
export function libraryChanges(
  current: readonly ContractFile[],
  against: readonly ContractFile[],
): readonly LibraryChange[] {
  const changes = new Map<string, LibraryChange>()
  for (const event of new Set(current.map((contract) => contract.event))) {
    const [before, after] = [newest(against, event), newest(current, event)]
    if (before === undefined || after === undefined || isSameLibrary(before, after)) continue
    const [from, to] = [libraryOf(before), libraryOf(after)]
    const known = changes.get(`${from} ${to}`)?.events ?? []
    changes.set(`${from} ${to}`, { from, to, events: [...known, event] })
  }
  return [...changes.values()]
}

function newest(contracts: readonly ContractFile[], event: string): ContractFile | undefined {
  return contracts
    .filter((contract) => contract.event === event)
    .toSorted((one, other) => other.version - one.version)[0]
}

/** A file without a version of its library says nothing about it. */
function isSameLibrary(one: ContractFile, other: ContractFile): boolean {
  if (one.vendor !== other.vendor) return one.vendor === '' || other.vendor === ''
  return [one.vendorVersion, other.vendorVersion].includes(undefined) || one.vendorVersion === other.vendorVersion
}

function libraryOf({ vendor, vendorVersion }: ContractFile): string {
  return vendorVersion === undefined ? vendor : `${vendor} ${vendorVersion}`
}
