//! `rowcliff forecast`: what a batch will cost at a table size that a run has not reached, from the files alone.

use super::Output;
use super::plot::keep_only;
use crate::analyse::Curve;
use crate::analyse::forecast::{Growth, Model, cache_rows};
use crate::cli::reckon::ForecastArgs;
use crate::error::{Error, exit};
use crate::reading::cache::cache_of;
use crate::reading::input::{self, Input};
use crate::render::forecast::{Answer, Forecasts, Reckoned};
use crate::render::show::curve_names;

/// Reckons, and ends with 1 where a curve that was asked for has no forecast.
///
/// # Errors
/// The path is no run and no file that can be read, its horizontal axis is not the size of the table, or it has no batch.
pub fn run(args: &ForecastArgs) -> Result<Output, Error> {
    let mut input = input::load_with(std::slice::from_ref(&args.run), &args.foreign.options())?;
    if let Some(axis) = &input.other_x {
        let next = "name the column of rows in the table with --x COLUMN";
        return Err(Error::file(&args.run, format!("{axis:?} is not the size of the table"), next));
    }
    keep_only(&mut input, &args.only)?;
    let names = curve_names(&input);
    let curves = input.curves.iter().zip(names).filter(|(curve, _)| !curve.samples.is_empty());
    let answers = curves.map(|(curve, name)| Answer { name, reckoned: reckon(&input, curve, args.at) }).collect();
    let forecasts = Forecasts { at_rows: args.at, answers };
    if forecasts.answers.is_empty() {
        return Err(Error::file(&args.run, "no curve has a batch", "see `rowcliff status` for where the run stands"));
    }
    let exit = if forecasts.made() < forecasts.answers.len() { exit::FAILED } else { exit::OK };
    let stdout = if args.json { forecasts.json() } else { forecasts.text() };
    Ok(Output { stdout, stderr: input.problems, exit })
}

fn reckon(input: &Input, curve: &Curve, at: u64) -> Reckoned {
    if let Some(sample) = curve.samples.iter().find(|sample| sample.table_rows >= at) {
        return Reckoned::Measured { seconds: sample.seconds, table_rows: sample.table_rows, rows: sample.rows };
    }
    let cache = cache_of(input, curve).and_then(|cache| cache_rows(curve, cache.bytes));
    match Model::of(&curve.samples, cache) {
        Err(why) => Reckoned::Refused { why: why.to_string() },
        Ok(model) => {
            // Nothing that was measured tells what a page costs that is not cached.
            let passes = |rows: &f64| (model.table_rows as f64) < *rows && *rows < at as f64;
            let ascending = curve.labels.key.starts_with("autoinc");
            let unseen_cache_rows =
                cache.filter(passes).filter(|_| !ascending && model.best.growth != Growth::OutgrownCache);
            Reckoned::Forecast {
                forecast: model.at(at as f64),
                model,
                unseen_cache_rows: unseen_cache_rows.map(|rows| rows as u64),
            }
        }
    }
}
