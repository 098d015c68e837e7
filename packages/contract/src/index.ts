export { checkCompatibility } from './policy/check-compatibility.ts'
export type { CompatibilityDirection, CompatibilityMode } from './policy/compatibility-mode.ts'
