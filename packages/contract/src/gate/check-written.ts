import { type ContractFile, contractPath, isSameUse } from '../file/contract-file.ts'
import { findingOf } from '../rule/finding.ts'
import type { GateFinding } from './gate-finding.ts'
import { hasSameMeaning } from './same-meaning.ts'

/** The contracts of a repository, and where its catalog and its files differ. */
export interface WrittenCheck {
  /** The files, and the catalog where the two differ. */
  readonly contracts: readonly ContractFile[]
  readonly findings: readonly GateFinding[]
}

/**
 * Compares the contracts of a catalog with the files in the repository. A file in other words is up to date if it means the
 * same.
 */
export function checkWritten(catalog: readonly ContractFile[], files: readonly ContractFile[]): WrittenCheck {
  const findings: GateFinding[] = []
  const report = (rule: 'notWritten' | 'eventRemoved', contract: ContractFile, message: string): void => {
    const finding = findingOf(rule, {
      severity: rule === 'notWritten' ? 'BREAKING' : 'WARNING',
      direction: null,
      at: { older: null, newer: '' },
      message,
    })
    findings.push({ ...finding, event: contract.event, file: contractPath(contract) })
  }
  const changed = catalog.filter((contract) => {
    const { event, version } = contract
    const path = contractPath(contract)
    const file = files.find((each) => contractPath(each) === path)
    if (file === undefined)
      report('notWritten', contract, `the contract file of ${event} version ${version} is missing`)
    else if (!hasSameMeaning(file.schema, contract.schema) || !isSameUse(file, contract))
      report('notWritten', contract, `the contract file of ${event} version ${version} differs from the catalog`)
    else return false
    return true
  })
  for (const file of files) {
    const versions = catalog.filter(({ event }) => event === file.event).map(({ version }) => version)
    if (versions.length === 0)
      report('eventRemoved', file, `${file.event} has a contract file and is not in the catalog`)
    else if (file.version > Math.max(...versions))
      report('notWritten', file, `the contract file of ${file.event} version ${file.version} is newer than the catalog`)
  }
  const replaced = new Set(changed.map(contractPath))
  return { contracts: [...files.filter((file) => !replaced.has(contractPath(file))), ...changed], findings }
}
