/** Entry for the packages of this repository and their tests. Not part of the API: it may change in any release. */

export type { AnyProjection } from './definition/projection.ts'
export { type Step, step } from './fold/step.ts'
