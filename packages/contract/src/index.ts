export { type CompareOptions, compareSchemas } from './compare/compare-schemas.ts'
export { type ContractFile, contractPath, contractsOf, contractText, readContract } from './file/contract-file.ts'
export { type ContractWaiver, readWaivers } from './file/waiver.ts'
export {
  type CheckContractsOptions,
  type ContractReport,
  checkContracts,
  type GateFinding,
} from './gate/check-contracts.ts'
export { type ReportFormat, reportText } from './gate/report-text.ts'
export { checkCompatibility } from './policy/check-compatibility.ts'
export type { CompatibilityDirection, CompatibilityMode } from './policy/compatibility-mode.ts'
export type { ContractFinding, FindingSeverity } from './rule/finding.ts'
export type { ContractRule } from './rule/rule.ts'
export { contractRules } from './rule/rules.ts'
